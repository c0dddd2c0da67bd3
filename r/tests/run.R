# Plain R: each line must hold. Run after R CMD INSTALL, with RETICULATE_PYTHON set.
library(cellguard)
if (!cg_available()) {
  message("The Python package is not there: nothing was tested.")
  quit(status = 0)
}

wrong <- 0
refused <- function(code, words) {
  said <- tryCatch({
    force(code)
    "nothing was refused"
  }, error = conditionMessage)
  if (!grepl(words, said, fixed = TRUE)) {
    wrong <<- wrong + 1
    message("expected '", words, "', got '", said, "'")
  }
}

set.seed(1)
people <- data.frame(
  region = c("N", "S")[rep(1:2, 60)], town = c("n1", "s1", "n2", "s2")[rep(1:4, 30)],
  age = factor(c("old", "young", "mid")[rep(1:3, 40)]), year = rep(c(2019, 2020), each = 60),
  sex = sample(c("f", "m"), 120, TRUE), x = 10 + (1:120) %% 17, stringsAsFactors = FALSE
)
people$x[7] <- 900

# Formulas: tables of the terms, nested columns as levels of one dimension.
done <- cg_protect(people, ~ region * age + town * age, rules = list(min_frequency = 11))
stopifnot(names(done$tables) == "table", nrow(cg_table(done)) == 7 * 4, is.data.frame(as.data.frame(done)))
table <- cg_table(done)
stopifnot(all(is.na(table$value) == (table$flag == "c")), any(is.na(table$value)))
stopifnot(table$value[table$town == "Total" & table$age == "Total"] == 120)
two <- cg_protect(people, x ~ region * age + region:sex, rules = list(min_frequency = 3, p_percent = 10))
stopifnot(setequal(names(two$tables), c("region_age", "region_sex")), grepl("^Safe", two$verdict))
stopifnot(identical(names(cg_crosstab(two, "region_age"))[1], "region"))

# Whole numbers as codes stay whole, text codes stay text, factors become their labels.
years <- cg_table(cg_protect(people, ~ year, rules = list(min_frequency = 3)))
stopifnot(setequal(years$year, c("Total", "2019", "2020")))

# Hierarchies as other packages write them give one and the same table.
dim_list <- data.frame(levels = c("@", "@@", "@@@", "@@@", "@@", "@@@", "@@@"),
                       codes = c("Total", "N", "n1", "n2", "S", "s1", "s2"))
maps <- data.frame(mapsFrom = c("n1", "n2", "s1", "s2"), mapsTo = c("N", "N", "S", "S"), sign = "+")
pairs <- data.frame(code = c("All", "N", "S", "n1", "n2", "s1", "s2"), parent = c(NA, "All", "All", "N", "N", "S", "S"))
nested <- list(N = c("n1", "n2"), S = c("s1", "s2"))
wanted <- cg_table(cg_protect(people, by = c("town", "age"), rules = list(min_frequency = 11),
                              hierarchies = list(town = c("region", "town"))))
for (tree in list(dim_list, maps, nested)) {
  found <- cg_table(cg_protect(people, by = c("town", "age"), rules = list(min_frequency = 11),
                               hierarchies = list(town = tree)))
  stopifnot(identical(found, wanted))
}
stopifnot("All" %in% cg_table(cg_protect(people, by = "town", rules = list(min_frequency = 3),
                                         hierarchies = list(town = pairs)))$town)

# What was suppressed says why, and a folder is written and verified.
small <- table[!is.na(table$flag) & table$flag == "c", ][1, ]
stopifnot(any(grepl("primary|secondary", cg_why(done, paste(small$town, small$age, sep = "/")))))
folder <- file.path(tempdir(), "out")
cg_write(done, folder)
stopifnot(file.exists(file.path(folder, "release", "table.csv")), isTRUE(cg_verify(folder)))

# GaussSuppression's habit: a result with freq, primary and suppressed. One cell alone in its row is given away.
cells <- expand.grid(region = c("Total", "a", "b", "c"), age = c("Total", "y", "o"), stringsAsFactors = FALSE)
inner <- c(a.y = 1, b.y = 20, c.y = 30, a.o = 25, b.o = 14, c.o = 9)
cells$freq <- mapply(function(r, g) {
  keep <- function(code, at) code == "Total" | substr(names(inner), at, at) == code
  sum(inner[keep(r, 1) & keep(g, 3)])
}, cells$region, cells$age)
cells$primary <- cells$region == "a" & cells$age == "y"
cells$suppressed <- cells$primary
bad <- cg_audit(cells, by = c("region", "age"))
stopifnot(!bad$safe, nrow(bad$failing) >= 1, grepl("a/y|y/a", bad$failing$cell[1]))
cells$suppressed <- cells$region %in% c("a", "b") & cells$age != "Total"
good <- cg_audit(cells, by = c("region", "age"))
stopifnot(good$safe, nrow(good$intervals) == 4)
cells$sdcStatus <- ifelse(cells$primary, "u", ifelse(cells$suppressed, "x", "s"))
stopifnot(cg_audit(cells, by = c("region", "age"), status = "sdcStatus")$safe)

# Natural mistakes, and what is said of them.
freq <- list(min_frequency = 3)
refused(cg_protect(people, ~ regon, rules = freq), "did you mean 'region'?")
refused(cg_protect(people, x ~ 1, rules = freq), "asks for no table; name at least one column")
refused(cg_protect(people, ~ factor(region), rules = freq), "a formula here has columns only")
refused(cg_protect(people, ~ ., rules = freq), "has a dot; name the columns instead")
refused(cg_protect(people, c("region", "age"), rules = freq), "write it with a tilde, as ~ region * age")
refused(cg_protect(people, rules = freq), "say which tables: ~ region * age")
refused(cg_protect(people, ~ region), "say what is sensitive: rules = list(min_frequency = 3)")
refused(cg_protect(people, ~ region, rules = list(3)), "`rules` needs names")
refused(cg_protect(people, ~ region, rules = list(maxN = 3)), "min_frequency = maxN + 1")
refused(cg_protect(people, ~ region, rules = list(dominance = c(2, 85))), "need names, as dominance = c(n = 2, k = 85)")
refused(cg_protect(people, ~ region, rules = list(p_percent = 0.1), value = "x"), "percent")
refused(cg_protect(people, dimVar = c("region", "age"), rules = freq), "no argument `dimVar`; here it is by")
refused(cg_protect(people, ~ region, maxN = 3), "here it is rules = list(min_frequency = maxN + 1)")
refused(cg_protect(people, ~ region, rules = freq, hierarchies = dim_list), "`hierarchies` is a named list")
refused(cg_protect(people, ~ region, value = "turnover", rules = freq), "has no column 'turnover'; it has region")
refused(cg_protect(people, ~ region, value = "age", rules = freq), "has to hold numbers, not factor")
refused(cg_protect(as.list(people), ~ region, rules = freq), "give a data frame, one row per record")
refused(cg_protect(people[0, ], ~ region, rules = freq), "the data frame has no rows")
refused(cg_protect(setNames(people, rep("a", 6)), ~ a, rules = freq), "has the column 'a' twice")
refused(cg_protect(transform(people, region = NA), ~ region, rules = freq), "missing")
refused(cg_protect(people, ~ region + town, rules = freq, hierarchies = list(town = nested)), "which is a level of it")
refused(cg_protect(people, by = "town", rules = freq, hierarchies = list(town = list(N = "n1"))), "town")
refused(cg_hierarchy(c("a", "b")), "a hierarchy is a data frame")
refused(cg_hierarchy(data.frame(a = 1, b = 2)), "this data frame is no hierarchy")
refused(cg_hierarchy(data.frame(l = c("@", "@@@"), c = c("T", "a"))), "more than one level deeper")
refused(cg_hierarchy(data.frame(mapsFrom = "a", mapsTo = "b", sign = "-")), "only sums are hierarchies")
refused(cg_hierarchy(data.frame(mapsFrom = c("a", "a"), mapsTo = c("b", "c"), sign = "+")), "has two codes above it")
refused(cg_table(two), "there are several tables; say which: ")
refused(cg_audit(cells, by = "region", freqVar = "freq"), "no argument `freqVar`; here it is value")
refused(cg_protect(transform(people, region = c(NA, region[-1])), ~ region, rules = freq), "missing = list(code = 'drop')")
refused(cg_audit(cells, by = "regin"), "did you mean 'region'?")
refused(cg_audit(cells[c("region", "freq")], by = "region"), "name it with `suppressed`")
refused(cg_audit(transform(cells, suppressed = FALSE), by = c("region", "age")), "is primary but not suppressed")
refused(cg_why(done, "nowhere"), "nowhere")
refused(cg_write(done, folder), "force")
refused(cg_verify(tempfile()), "no")
if (wrong) stop(wrong, " messages are not as they should be")
cat("all lines hold\n")
