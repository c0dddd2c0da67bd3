#' Audit what another package protected: what can an attacker still work out?
#'
#' @param data The result: one row per cell, margins included, such as GaussSuppression's or sdcTable's `getInfo(...,
#'   "finalData")`.
#' @param by The dimension columns.
#' @param value The column of the true values (default: `freq`, `Freq` or `value`, whichever there is).
#' @param suppressed,primary Logical columns: which cells are suppressed, and which of them were primary.
#' @param status In place of both: a column of sdcTable's statuses (`u`, `x`, `s`, `z`).
#' @param hierarchies As in `cg_protect`. Without one, codes stand side by side under the total.
#' @param total The code of the total, one for all dimensions or one for each.
#' @param ... Nothing: what other packages call their arguments is answered with the word for it here.
#' @param percent How far an attacker must stay away from a primary cell, in percent of its value.
cg_audit <- function(data, by, value = NULL, suppressed = "suppressed", primary = "primary", status = NULL,
                     hierarchies = NULL, total = "Total", percent = 10, ...) {
  foreign <- names(list(...))
  if (length(foreign)) {
    cures <- c(freq = "value", freqVar = "value", freqVarInd = "value", numVar = "value", dimVar = "by", flag = "status")
    cure <- if (foreign[1] %in% names(cures)) paste0("; here it is ", cures[[foreign[1]]]) else ""
    stop("cg_audit has no argument `", foreign[1], "`", cure, call. = FALSE)
  }
  if (!is.data.frame(data)) {
    stop("`data` is a ", class(data)[1], "; give the data frame of the result, one row per cell", call. = FALSE)
  }
  data <- as.data.frame(data)
  value <- if (is.null(value)) intersect(c("freq", "Freq", "value"), names(data))[1] else value
  if (is.na(value)) stop("say which column has the values: value = \"turnover\"", call. = FALSE)
  for (column in c(by, value, status)) {
    if (!column %in% names(data)) {
      stop("the result has no column '", column, "'", nearest(column, names(data)), call. = FALSE)
    }
  }
  marks <- if (is.null(status)) statuses(data, suppressed, primary) else trimws(as.character(data[[status]]))
  cells <- data.frame(lapply(data[by], as_codes), data[[value]], marks, check.names = FALSE)
  names(cells) <- c(by, "value", "status")
  folder <- tempfile("cellguard")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "result.csv")
  utils::write.csv(cells, file, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  third <- module("cellguard.inputs.third_party_tables")$ThirdParty
  path <- reticulate::import("pathlib", convert = FALSE)$Path
  counts <- all(data[[value]] == round(data[[value]]), na.rm = TRUE)
  given <- told(third(
    tables = list(path(file)), dims = as.list(dimensions(by, hierarchies, total, folder)), value = "value",
    flag = "status", suppressed = list("u", "x"), true = "value", primary = list("u"), percent = percent,
    count = counts && value %in% c("freq", "Freq")
  ))
  summary <- reticulate::py_to_r(told(module("cellguard.pipeline")$audit_third_party(given)))
  failing <- do.call(rbind, lapply(summary$failing, function(f) data.frame(cell = f$cell, how = toString(unlist(f$how)))))
  intervals <- do.call(rbind, lapply(summary$intervals, function(f) {
    data.frame(cell = f$cell, lower = number(f$lower), upper = number(f$upper))
  }))
  structure(list(safe = identical(summary$verdict, "safe"), verdict = summary$verdict, headline = summary$headline,
                 failing = failing, intervals = intervals), class = "cg_audit")
}

number <- function(x) if (is.null(x)) Inf else x

statuses <- function(data, suppressed, primary) {
  if (!suppressed %in% names(data)) {
    stop("the result has no column '", suppressed, "' that says which cells are suppressed; name it with `suppressed`, ",
         "or a column of statuses with `status`", call. = FALSE)
  }
  hidden <- as.logical(data[[suppressed]])
  first <- if (primary %in% names(data)) as.logical(data[[primary]]) else hidden
  hidden[is.na(hidden)] <- FALSE
  first[is.na(first)] <- FALSE
  if (any(first & !hidden)) {
    stop("row ", which(first & !hidden)[1], " is primary but not suppressed; is this the result, or its input?",
         call. = FALSE)
  }
  ifelse(first, "u", ifelse(hidden, "x", "s"))
}

# Each dimension in the words of `cellguard audit --dim`; hierarchies are written beside the result.
dimensions <- function(by, hierarchies, total, folder) {
  total <- rep_len(total, length(by))
  mapply(function(name, code) {
    given <- hierarchies[[name]]
    if (is.null(given)) {
      return(paste0(name, ":total=", code))
    }
    tree <- if (inherits(given, "python.builtin.object")) given else cg_hierarchy(given, total = code)
    codes <- unlist(reticulate::py_to_r(reticulate::import_builtins(convert = FALSE)$list(tree$codes)))
    above <- vapply(codes, function(one) {
      parent <- reticulate::py_to_r(tree$parent_of(one))
      if (is.null(parent)) "" else parent
    }, character(1))
    file <- file.path(folder, paste0("tree", match(name, by), ".csv"))
    utils::write.csv(data.frame(code = codes, parent = above), file, row.names = FALSE, fileEncoding = "UTF-8")
    paste0(name, ":parents=", file)
  }, by, total, USE.NAMES = FALSE)
}

print.cg_audit <- function(x, ...) {
  cat(x$headline, "\n", sep = "")
  if (!is.null(x$failing)) print(utils::head(x$failing, 10), row.names = FALSE)
  invisible(x)
}
