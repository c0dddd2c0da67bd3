# What users of other packages write, and what it is called here.
elsewhere <- c(
  dimVar = "by", freqVar = "freq", numVar = "value", contributorVar = "respondent (or holding, for groups)",
  charVar = "respondent (or holding, for groups)", weightVar = "cost", candidates = "cost", dimList = "hierarchies",
  maxN = "rules = list(min_frequency = maxN + 1)", protectZeros = "options = list(zeros = \"possible\")",
  k = "rules = list(dominance = c(n = 2, k = 85))", n = "rules = list(dominance = c(n = 2, k = 85))",
  p = "rules = list(p_percent = 10)", sampleWeight = "weight", method = "options = list(protect = list(engine = ...))"
)

#' Protect tables: find the sensitive cells, suppress as little as possible, and prove that the rest is safe.
#'
#' @param data A data frame of records.
#' @param formula Which tables: `~ region * age + region:sex`. The column to sum may stand on the left.
#' @param value The column to sum; without it records are counted.
#' @param rules What is sensitive: `list(min_frequency = 3, p_percent = 10, dominance = c(n = 2, k = 85))`.
#' @param by In place of a formula: the columns that span one table.
#' @param hierarchies A named list: what `cg_hierarchy` takes, or columns that nest, coarsest first.
#' @param weight,respondent,holding Columns: the survey weight, who reports, and the group that it belongs to.
#' @param freq The column of how many respondents a row stands for; rows are then inner cells, and totals are added.
#' @param ... Further arguments of Python's `cellguard.protect`, such as `name`, `cost` and `options`.
cg_protect <- function(data, formula = NULL, value = NULL, rules = NULL, by = NULL, hierarchies = NULL,
                       weight = NULL, respondent = NULL, holding = NULL, freq = NULL, ...) {
  more <- list(...)
  foreign <- intersect(names(more), names(elsewhere))
  if (length(foreign)) {
    stop("cg_protect has no argument `", foreign[1], "`; here it is ", elsewhere[[foreign[1]]], call. = FALSE)
  }
  if (length(more) && (is.null(names(more)) || any(!nzchar(names(more))))) {
    stop("arguments after `freq` need names, as name = \"turnover\"", call. = FALSE)
  }
  text <- formula_text(formula)
  if (is.null(text) && is.null(by)) {
    stop("say which tables: ~ region * age, or by = c(\"region\", \"age\")", call. = FALSE)
  }
  if (!is.null(text) && !is.null(by)) stop("give one of `formula` and `by`: a formula names the columns", call. = FALSE)
  if (!is.null(value) && !identical(value, "count") && is.data.frame(data) && !value %in% names(data)) {
    stop("the data frame has no column '", value, "'", nearest(value, names(data)), call. = FALSE)
  }
  left <- if (inherits(formula, "formula") && length(formula) == 3) all.vars(formula[[2]]) else NULL
  records <- as_records(data, c(value, left, weight, freq))
  arguments <- c(
    list(data = records, rules = as_rules(rules), hierarchies = as_hierarchies(hierarchies)),
    if (is.null(text)) list(by = as.list(by)) else list(tables = text),
    Filter(Negate(is.null), list(value = value, weight = weight, respondent = respondent, holding = holding,
                                 freq = freq)),
    lapply(more, whole)
  )
  result(told(do.call(python()$protect, arguments)))
}

formula_text <- function(formula) {
  if (is.null(formula)) {
    return(NULL)
  }
  if (inherits(formula, "formula")) {
    return(paste(deparse(formula, width.cutoff = 500L), collapse = " "))
  }
  if (is.character(formula) && length(formula) == 1 && grepl("~", formula, fixed = TRUE)) {
    return(formula)
  }
  stop("`formula` is no formula; write it with a tilde, as ~ region * age, or name the columns as ",
       "by = c(\"region\", \"age\")", call. = FALSE)
}

nearest <- function(name, names) {
  close <- names[utils::adist(name, names, ignore.case = TRUE) <= 2]
  if (length(close)) paste0("; did you mean '", close[1], "'?") else paste0("; it has ", paste(names, collapse = ", "))
}

result <- function(outcome) {
  tables <- told(reticulate::py_to_r(reticulate::import_builtins(convert = FALSE)$list(outcome$tables$keys())))
  made <- lapply(tables, function(name) as_frame(outcome$tables[name]))
  names(made) <- tables
  structure(list(tables = made, verdict = reticulate::py_to_r(outcome$verdict$text), outcome = outcome),
            class = "cg_result")
}

print.cg_result <- function(x, ...) {
  cat(x$verdict, "\n", sep = "")
  for (name in names(x$tables)) {
    table <- x$tables[[name]]
    cat(name, ": ", nrow(table), " cells, ", sum(table$flag == "c"), " suppressed\n", sep = "")
  }
  invisible(x)
}

#' The published table: one row per cell; suppressed cells are NA and have the flag c.
cg_table <- function(x, table = NULL) x$tables[[one_table(x, table)]]

as.data.frame.cg_result <- function(x, ..., table = NULL) cg_table(x, table)

#' The published table as a crosstab: rows by the first dimension, columns by the second.
cg_crosstab <- function(x, table = NULL) as_frame(told(x$outcome$crosstab(one_table(x, table))))

one_table <- function(x, table) {
  if (is.null(table) && length(x$tables) > 1) {
    stop("there are several tables; say which: ", paste(names(x$tables), collapse = ", "), call. = FALSE)
  }
  if (!is.null(table) && !table %in% names(x$tables)) {
    stop("no table '", table, "'", nearest(table, names(x$tables)), call. = FALSE)
  }
  if (is.null(table)) names(x$tables)[1] else table
}

#' Why a cell is suppressed or may be seen. Confidential.
cg_why <- function(x, cell, table = NULL) {
  unlist(told(reticulate::py_to_r(x$outcome$why(cell, table = one_table(x, table)))))
}

#' Write release, internal files and certificate to a folder.
cg_write <- function(x, folder, force = FALSE) {
  told(x$outcome$write(path.expand(folder), force = force))
  invisible(folder)
}

#' Write the officer's page, which is confidential, to a file.
cg_report <- function(x, file, force = FALSE) {
  told(x$outcome$report(path.expand(file), force = force))
  invisible(file)
}

#' Check the certificate of an output folder, with no solver.
cg_verify <- function(folder) {
  found <- told(module("cellguard.pipeline")$verify(path.expand(folder)))
  reticulate::py_to_r(found$valid)
}
