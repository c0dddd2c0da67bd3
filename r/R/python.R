# The door to Python. Everything is handed over as plain lists, so that no version of numpy matters.

state <- new.env(parent = emptyenv())

#' Tell whether the Python package is there.
cg_available <- function() {
  !inherits(tryCatch(python(), error = identity), "error")
}

# Return the Python package, or say how to get it.
python <- function() {
  if (is.null(state$module)) {
    state$module <- tryCatch(
      reticulate::import("cellguard", convert = FALSE),
      error = function(e) {
        stop("Python's package cellguard is not found. Install it with `pip install cellguard`, and name the Python ",
             "that has it before the first call: Sys.setenv(RETICULATE_PYTHON = \"/path/to/python\")", call. = FALSE)
      }
    )
  }
  state$module
}

module <- function(name) reticulate::import(name, convert = FALSE)

# Run what calls Python; its errors become R's, in their own words.
told <- function(code) {
  tryCatch(code, error = function(e) stop(plain_words(conditionMessage(e)), call. = FALSE))
}

plain_words <- function(message) {
  message <- sub("\n.*$", "", message)
  message <- gsub("(\\w+)=\\{'(\\w+)': ([^{}]*)\\}", "\\1 = list(\\2 = \\3)", message)
  own <- sub("^cellguard\\.errors\\.[A-Za-z]+: ", "", message)
  if (own != message || !grepl("^[A-Za-z_.]+(Error|Exception): ", message)) {
    return(own)
  }
  paste0("internal error: ", sub(":.*$", "", message), ". Please report it; nothing was released")
}

# A column as a Python list: missing entries are None. Numbers that are codes lose neither digits nor zeros.
as_column <- function(x, name, number) {
  if (is.list(x) || !is.null(dim(x))) {
    stop("column '", name, "' is a ", class(x)[1], "; give a plain vector, one entry per row", call. = FALSE)
  }
  missing <- is.na(x)
  if (!number) {
    x <- as_codes(x)
  } else if (!is.numeric(x) && !is.logical(x)) {
    stop("column '", name, "' has to hold numbers, not ", class(x)[1], "; convert it with as.numeric()", call. = FALSE)
  } else {
    x <- as.numeric(x)
  }
  if (!any(missing)) {
    return(as.list(x))
  }
  entries <- as.list(x)
  entries[missing] <- list(NULL)
  entries
}

as_codes <- function(x) {
  if (is.numeric(x) && !is.factor(x) && !inherits(x, c("Date", "POSIXt"))) {
    return(trimws(formatC(as.numeric(x), digits = 15, format = "fg", width = 1)))
  }
  as.character(x)
}

as_records <- function(data, numbers) {
  if (!is.data.frame(data)) {
    stop("`data` is a ", class(data)[1], "; give a data frame, one row per record", call. = FALSE)
  }
  if (anyDuplicated(names(data))) {
    stop("the data frame has the column '", names(data)[anyDuplicated(names(data))], "' twice; rename one of them",
         call. = FALSE)
  }
  if (!nrow(data)) stop("the data frame has no rows; there is nothing to protect", call. = FALSE)
  # Grouped tibbles and data.tables become plain frames.
  data <- as.data.frame(data)
  columns <- Map(function(x, name) as_column(x, name, name %in% numbers), data, names(data))
  do.call(reticulate::dict, c(columns, list(convert = FALSE)))
}

# An Arrow table as a data frame; missing entries are NA.
as_frame <- function(table) {
  columns <- reticulate::py_to_r(table$to_pydict())
  filled <- lapply(columns, function(x) if (is.list(x)) unlist(lapply(x, function(e) if (is.null(e)) NA else e)) else x)
  as.data.frame(filled, stringsAsFactors = FALSE, check.names = FALSE, optional = TRUE)
}
