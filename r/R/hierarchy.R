#' A hierarchy, from what R packages write.
#'
#' @param x One of: a data frame of levels ("@", "@@", ...) and codes, as sdcTable's dimList has it, whose first row is
#'   the total; a data frame with mapsFrom and mapsTo, as SSBtools has it; a tree of sdcHierarchies (`hier_create`); a
#'   data frame with code and parent; a nested list of codes.
#' @param total The code of the total, where x does not say.
cg_hierarchy <- function(x, total = "Total") {
  pairs <- if (is.data.frame(x)) pairs_of_frame(x, total) else if (is.list(x)) pairs_of_list(x, total) else {
    stop("a hierarchy is a data frame (levels and codes; mapsFrom and mapsTo; code and parent) or a nested list, not ",
         class(x)[1], call. = FALSE)
  }
  pairs <- unique(pairs)
  twice <- pairs$code[duplicated(pairs$code)]
  if (length(twice)) {
    stop("the code '", twice[1], "' has two codes above it; give the second grouping as a table of its own, or write a ",
         "job in which it is an `also` of the dimension", call. = FALSE)
  }
  edges <- unname(Map(function(code, parent) reticulate::tuple(code, parent), pairs$code, pairs$parent))
  told(python()$Hierarchy$from_parents(edges))
}

pairs_of_frame <- function(x, total) {
  x <- as.data.frame(x)
  has <- function(...) all(c(...) %in% names(x))
  text <- function(name) trimws(as.character(x[[name]]))
  if (has("mapsFrom", "mapsTo")) {
    if (has("sign") && any(!text("sign") %in% c("+", "1"))) {
      stop("the hierarchy has a sign other than +; only sums are hierarchies, so leave such rows out", call. = FALSE)
    }
    return(rooted(data.frame(code = text("mapsFrom"), parent = text("mapsTo")), total))
  }
  if (has("code", "parent")) {
    parent <- text("parent")
    parent[is.na(parent)] <- ""
    return(rooted(data.frame(code = text("code"), parent = parent), total))
  }
  if (has("root", "leaf", "level")) {
    parent <- ifelse(text("root") == text("leaf"), "", text("root"))
    return(data.frame(code = text("leaf"), parent = parent))
  }
  if (ncol(x) >= 2 && all(grepl("^@+$", trimws(as.character(x[[1]]))))) {
    return(pairs_of_levels(nchar(trimws(as.character(x[[1]]))), trimws(as.character(x[[2]]))))
  }
  stop("this data frame is no hierarchy: it needs levels (\"@\", \"@@\") and codes, or the columns mapsFrom and mapsTo, ",
       "or code and parent; it has ", paste(names(x), collapse = ", "), call. = FALSE)
}

# Codes with their depth, in the order of the tree; the first is the total.
pairs_of_levels <- function(depth, code) {
  if (depth[1] != 1 || sum(depth == 1) != 1) {
    stop("the first row of the levels, and only that, has a single @: it is the total", call. = FALSE)
  }
  if (any(diff(depth) > 1)) {
    at <- which(diff(depth) > 1)[1] + 1
    stop("row ", at, " ('", code[at], "') is more than one level deeper than the row before it", call. = FALSE)
  }
  open <- character()
  parent <- character(length(code))
  for (i in seq_along(code)) {
    parent[i] <- if (depth[i] == 1) "" else open[depth[i] - 1]
    open[depth[i]] <- code[i]
  }
  data.frame(code = code, parent = parent)
}

pairs_of_list <- function(x, total) {
  walk <- function(node, parent) {
    if (!is.list(node)) {
      return(data.frame(code = as.character(node), parent = rep(parent, length(node))))
    }
    if (is.null(names(node)) || any(!nzchar(names(node)))) {
      stop("each part of a nested list needs a name: list(North = c(\"n1\", \"n2\"), South = c(\"s1\"))", call. = FALSE)
    }
    parts <- Map(function(name, inner) rbind(data.frame(code = name, parent = parent), walk(inner, name)), names(node), node)
    do.call(rbind, unname(parts))
  }
  rbind(data.frame(code = total, parent = ""), walk(x, total))
}

# Put what has nothing above it below a total, unless it is one itself.
rooted <- function(pairs, total) {
  top <- unique(c(pairs$parent[pairs$parent != "" & !pairs$parent %in% pairs$code], pairs$code[pairs$parent == ""]))
  pairs <- pairs[pairs$parent != "", , drop = FALSE]
  if (length(top) == 1) {
    return(rbind(data.frame(code = top, parent = ""), pairs))
  }
  rbind(data.frame(code = total, parent = ""), data.frame(code = top, parent = total), pairs)
}

as_hierarchies <- function(hierarchies) {
  if (is.null(hierarchies)) {
    return(reticulate::dict(convert = FALSE))
  }
  if (!is.list(hierarchies) || is.data.frame(hierarchies) || is.null(names(hierarchies))) {
    stop("`hierarchies` is a named list, one entry per dimension: list(region = cg_hierarchy(...))", call. = FALSE)
  }
  made <- lapply(hierarchies, function(x) {
    if (inherits(x, "python.builtin.object")) x else if (is.character(x)) as.list(x) else cg_hierarchy(x)
  })
  do.call(reticulate::dict, c(made, list(convert = FALSE)))
}
