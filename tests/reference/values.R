# Make the values of R's programs that test_against_r.py holds fairstress to.
#
# Usage: Rscript tests/reference/values.R
#
# Reads r_table.csv, which r_table.py draws, and writes r_values.json beside this file; where the package mediation is
# installed also medsens.json. Nothing here knows fairstress, so that the two cannot share a mistake: columns are
# standardised, and squares and products are made, in a few lines of R.
#
# - Structural equations at a given correlation of the errors: lavaan. A fixed covariance would not do, since the scales
#   that are best for it are not those that are best for a correlation. So each error is a loading times a latent
#   variable of variance 1, whose covariances are the correlations; no variable keeps a residual variance of its own,
#   and the loadings are the scales. lavaan's search leaves six digits; Newton's steps by its own gradient and Hessian
#   take the gradient to rounding.
# - Squares and products: further columns. For lavaan they are exogenous, and its likelihood is that of everything else
#   given them; as a formula that is the density of the errors, since a variable's terms are made of earlier variables.
# - Indirect effect by the correlation of a mediator's and an outcome's errors: theorem 4 of Imai, Keele and Yamamoto
#   (2010, Statistical Science 25, 51-71) by three regressions, lavaan, and medsens of the package mediation. Without an
#   edge from the attribute to the outcome, where that theorem does not hold: lavaan alone.
# - Two values and ordered levels with independent errors: glm, and clm of the package ordinal.

suppressPackageStartupMessages(library(lavaan))
options(warn = 2) # a warning is an error

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
people <- read.csv(file.path(here, "r_table.csv"))
standardise <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
numbers <- c("age", "school", "test", "pay", "grade", "member")
coded <- as.data.frame(lapply(people[numbers], standardise))
coded$group <- ifelse(people$group == "south", 1, -1)

# ---------------------------------------------------------------- structural equations

# terms as fairstress names them, such as "group*school" and "school^2", under names that formulas can have
column_of <- function(term) gsub("[*^]", "_", term)
with_columns <- function(data, terms) {
  for (term in terms) data[[column_of(term)]] <- eval(parse(text = term), data)
  data
}

# equations in lavaan's language; every error is a loading times a latent variable of variance 1
described <- function(equations, correlation) {
  of <- names(equations)
  has_parents <- of[lengths(equations) > 0]
  sums <- sapply(equations[has_parents], function(terms) paste(column_of(terms), collapse = " + "))
  pairs <- strsplit(names(correlation), ", ")
  c(
    paste(has_parents, "~", sums),
    sprintf("e_%s =~ NA*%s", of, of),
    sprintf("e_%s ~~ 1*e_%s", of, of),
    mapply(function(pair, rho) sprintf("e_%s ~~ %s*e_%s", pair[1], rho, pair[2]), pairs, correlation)
  )
}

# Newton's steps by lavaan's own gradient and Hessian, from where its search has stopped
polished <- function(fit) {
  options <- modifyList(fit@Options, list(optim.method = "none"))
  for (step in 1:3) {
    table <- as.list(parTable(fit))
    free <- table$free > 0
    move <- solve(lavInspect(fit, "hessian"), as.numeric(lavInspect(fit, "gradient")))
    table$est[free] <- table$est[free] - move[table$free[free]]
    table$start <- table$ustart <- table$est
    fit <- lavaan(
      slotOptions = options, slotParTable = table, slotSampleStats = fit@SampleStats, slotData = fit@Data
    )
  }
  fit
}

fit_at <- function(data, equations, correlation) {
  data <- with_columns(data, unlist(equations))
  text <- paste(described(equations, correlation), collapse = "\n")
  polished(lavaan(text, data, meanstructure = TRUE, int.ov.free = TRUE, se = "none"))
}

weights_of <- function(fit, feature, terms) {
  of <- paste0(feature, c("~1", if (length(terms)) paste0("~", column_of(terms))))
  setNames(as.list(unname(coef(fit)[of])), c("1", terms))
}

point <- function(case, correlation) {
  fit <- fit_at(coded, case$equations, correlation)
  of <- names(case$equations)
  list(
    correlation = correlation,
    weights = Map(function(feature, terms) weights_of(fit, feature, terms), of, case$equations),
    scales = setNames(as.list(abs(unname(coef(fit)[sprintf("e_%s=~%s", of, of)]))), of),
    log_likelihood = as.numeric(logLik(fit)),
    largest_gradient = max(abs(lavInspect(fit, "gradient")))
  )
}

cases <- list(
  "two features" = list(
    graph = "group -> school -> test; school <-> test", protected = "group", degrees = list(school = 1, test = 1),
    equations = list(school = "group", test = "school"),
    correlations = list(list("school, test" = 0.4), list("school, test" = -0.7))
  ),
  "three features" = list(
    graph = "group -> school -> test; group, test -> pay; school <-> test; school <-> pay; test <-> pay",
    protected = "group", degrees = list(school = 1, test = 1, pay = 1),
    equations = list(school = "group", test = "school", pay = c("group", "test")),
    correlations = list(
      list("school, test" = 0.4, "school, pay" = -0.3, "test, pay" = 0.2),
      list("school, test" = -0.8, "school, pay" = 0.5, "test, pay" = -0.7)
    )
  ),
  "numeric attribute" = list(
    graph = "age -> school -> test; age <-> school; age <-> test; school <-> test",
    protected = "age", degrees = list(school = 1, test = 1),
    equations = list(age = character(0), school = "age", test = "school"),
    correlations = list(
      list("age, school" = 0.3, "age, test" = -0.2, "school, test" = 0.4),
      list("age, school" = -0.6, "age, test" = 0.5, "school, test" = -0.3)
    )
  ),
  "squares and products" = list(
    graph = "group, school -> test; group -> school; test -> pay; school <-> test; school <-> pay; test <-> pay",
    protected = "group", degrees = list(school = 1, test = 2, pay = 2),
    equations = list(
      school = "group", test = c("group", "school", "group*school", "school^2"), pay = c("test", "test^2")
    ),
    correlations = list(
      list("school, test" = 0.3, "school, pay" = 0.4, "test, pay" = -0.5),
      list("school, test" = -0.6, "school, pay" = 0.2, "test, pay" = 0.4)
    )
  )
)

structural_equations <- lapply(cases, function(case) {
  kept <- case[c("graph", "protected", "degrees")]
  c(kept, list(points = lapply(case$correlations, function(correlation) point(case, correlation))))
})

# ---------------------------------------------------------------- the indirect effect

people$south <- as.numeric(people$group == "south")
mediator <- lm(school ~ south, people)
outcome <- lm(test ~ south + school, people)
rho <- round(seq(-0.9, 0.9, 0.1), 1)

# beta_2 sigma_1 / sigma_2 (rho_tilde - rho sqrt((1 - rho_tilde^2) / (1 - rho^2))), errors of the reduced forms
reduced <- residuals(lm(test ~ south, people))
rho_tilde <- cor(reduced, residuals(mediator))
indirect <- function(rho) {
  slope <- sd(reduced) / sd(residuals(mediator)) * (rho_tilde - rho * sqrt((1 - rho_tilde^2) / (1 - rho^2)))
  unname(coef(mediator)["south"]) * slope
}

indirect_by_lavaan <- function(rho, parents) {
  fit <- fit_at(people, list(school = "south", test = parents), list("school, test" = rho))
  prod(coef(fit)[c("school~south", "test~school")])
}

# without an edge from group to test the curve turns
top <- optimize(indirect_by_lavaan, c(-0.9, 0), parents = "school", maximum = TRUE, tol = 1e-8)

mediation <- list(
  description = "effect of group on test through school, from north to south, by the correlation of their errors",
  degrees = list(school = 1, test = 1),
  rho = rho,
  partial = list(
    graph = "group -> school; group, school -> test; school <-> test",
    closed_form = indirect(rho),
    lavaan = sapply(rho, indirect_by_lavaan, parents = c("south", "school")),
    rho_without_effect = rho_tilde
  ),
  full = list(
    graph = "group -> school -> test; school <-> test",
    lavaan = sapply(rho, indirect_by_lavaan, parents = "school"),
    top = list(rho = top$maximum, value = top$objective)
  )
)

# ---------------------------------------------------------------- two values and ordered levels

two_values <- function(feature, parents) {
  data <- transform(coded, level = people[[feature]])
  weights <- NULL
  for (run in 1:10) { # a run stops when the deviance does, at half of the digits; the next one goes on from there
    fit <- glm(reformulate(parents, "level"), binomial("probit"), data, start = weights)
    weights <- coef(fit)
  }
  list(weights = as.list(weights[-1]), cuts = list(-weights[[1]]), log_likelihood = as.numeric(logLik(fit)))
}

ordered_levels <- function(feature, parents) {
  data <- transform(coded, level = factor(people[[feature]]))
  control <- ordinal::clm.control(gradTol = 1e-11, maxIter = 200L)
  fit <- ordinal::clm(reformulate(parents, "level"), data = data, link = "probit", control = control)
  list(weights = as.list(fit$beta), cuts = unname(fit$alpha), log_likelihood = as.numeric(logLik(fit)))
}

regression <- lm(test ~ group, coded)
probits <- list(
  graph = "group -> test; group, test -> grade; group, test, grade -> member",
  features = list(
    grade = ordered_levels("grade", c("group", "test")), member = two_values("member", c("group", "test", "grade"))
  ),
  number = list(feature = "test", log_likelihood = as.numeric(logLik(regression)))
)

# ---------------------------------------------------------------- files

versions <- function(packages) {
  c(list(R = paste(R.version$major, R.version$minor, sep = ".")), sapply(packages, function(name) {
    packageDescription(name)$Version
  }, simplify = FALSE))
}

store <- function(values, packages, file) {
  record <- c(list(programs = versions(packages), date = format(Sys.Date())), values)
  jsonlite::write_json(record, file.path(here, file), auto_unbox = TRUE, digits = NA, pretty = 1)
}

values <- list(structural_equations = structural_equations, mediation = mediation, probits = probits)
store(values, c("lavaan", "ordinal"), "r_values.json")

if (requireNamespace("mediation", quietly = TRUE)) {
  suppressPackageStartupMessages(library(mediation)) # whose functions need those of its own dependencies
  set.seed(1) # mediate draws; what medsens takes of it is not drawn
  drawn <- mediate(mediator, outcome, treat = "south", mediator = "school", sims = 20)
  # its eps is of a sum of squares
  found <- medsens(drawn, rho.by = 0.1, eps = 1e-22, effect.type = "both")
  values <- list(rho = found$rho, indirect = as.vector(found$d0), direct = as.vector(found$z0))
  store(values, "mediation", "medsens.json")
} else {
  message("The package mediation is not installed: medsens.json stays as it is.")
}
