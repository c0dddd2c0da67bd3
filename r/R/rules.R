# Rules as R users write them: list(min_frequency = 3, p_percent = 10, dominance = c(n = 2, k = 85)).

as_rules <- function(rules) {
  if (missing(rules) || is.null(rules) || !length(rules)) {
    stop("say what is sensitive: rules = list(min_frequency = 3) for counts, list(p_percent = 10) for sums",
         call. = FALSE)
  }
  if (inherits(rules, "python.builtin.object")) {
    return(list(rules))
  }
  named <- !is.null(names(rules)) && all(nzchar(names(rules)))
  if (!named && all(vapply(rules, is.list, logical(1)))) {
    return(unname(unlist(lapply(rules, as_rules), recursive = FALSE)))
  }
  if (!named) {
    stop("`rules` needs names: list(min_frequency = 3, p_percent = 10)", call. = FALSE)
  }
  unname(Map(one_rule, names(rules), rules))
}

one_rule <- function(name, value) {
  cures <- c(maxN = "min_frequency = maxN + 1 (fewer than min_frequency is unsafe)", p = "p_percent",
             nk = "dominance = c(n = 2, k = 85)", pq = "prior_posterior = c(p = 10, q = 100)")
  if (name %in% names(cures)) {
    stop("there is no rule '", name, "'; write ", cures[[name]], call. = FALSE)
  }
  if (length(value) > 1) {
    if (is.null(names(value))) {
      stop("the numbers of '", name, "' need names, as dominance = c(n = 2, k = 85)", call. = FALSE)
    }
    value <- lapply(as.list(value), whole)
  } else {
    value <- whole(value)
  }
  reticulate::dict(stats_names(name, value), convert = FALSE)
}

stats_names <- function(name, value) {
  made <- list(value)
  names(made) <- name
  made
}

# R writes 3 for a whole number, and Python tells it from 3.0.
whole <- function(x) {
  if (is.numeric(x) && length(x) == 1 && is.finite(x) && x == round(x) && abs(x) < 2^31) as.integer(x) else x
}
