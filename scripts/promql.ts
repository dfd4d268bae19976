import { parser } from "@prometheus-io/lezer-promql"

/** A Grafana variable in place of a duration, such as `[$__rate_interval]`, which is not PromQL. */
const grafanaDuration = /\[\$__\w+\]/g

/** The expression as PromQL of the same length, so that positions in it are positions in the original. */
const asPromql = (expr: string): string => expr.replaceAll(grafanaDuration, (it) => `[1m${" ".repeat(it.length - 4)}]`)

const syntaxError = (text: string, at: number) =>
  new Error(`not PromQL from here on: ${JSON.stringify(text.slice(at, at + 40))}`)

/**
 * The expression with further label matchers in each of its selectors. `matchersOf` gets the name of the selected metric
 * and returns the matchers as PromQL writes them between braces. Throws if the expression is not PromQL.
 */
export const withMatchers = (expr: string, matchersOf: (metric: string) => string): string => {
  const promql = asPromql(expr)
  const insertions: Array<{ readonly at: number; readonly text: string }> = []
  parser.parse(promql).iterate({
    enter: ({ from, name, node, to, type }) => {
      if (type.isError) throw syntaxError(expr, from)
      if (name !== "VectorSelector") return
      const matchers = node.getChild("LabelMatchers")
      const added = matchersOf(promql.slice(from, matchers?.from ?? to))
      if (added === "") return
      if (matchers === null) insertions.push({ at: to, text: `{${added}}` })
      else insertions.push({ at: matchers.from + 1, text: matchers.to - matchers.from > 2 ? `${added},` : added })
    }
  })
  return insertions.reduceRight((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), expr)
}

/** The value of a PromQL string literal without escapes, which label values hardly ever need. */
const literalValue = (literal: string): string => {
  if (literal.includes("\\")) throw new Error(`a value with a backslash: ${literal}`)
  return literal.slice(1, -1)
}

/** The labels whose value the matchers state by `label="value"`, by name. Throws if the matchers are not PromQL. */
export const equalLabels = (matchers: string): Readonly<Record<string, string>> => {
  const selector = `{${matchers}}`
  const labels: Record<string, string> = {}
  parser.parse(selector).iterate({
    enter: ({ from, name, node, type }) => {
      if (type.isError) throw syntaxError(selector, from)
      if (name !== "UnquotedLabelMatcher" || node.getChild("MatchOp")?.getChild("EqlSingle") == null) return
      const [label, value] = ["LabelName", "StringLiteral"].map((part) => node.getChild(part))
      if (label == null || value == null) return
      labels[selector.slice(label.from, label.to)] = literalValue(selector.slice(value.from, value.to))
    }
  })
  return labels
}

/** True for the name of a series that a recording rule of Quarry makes. */
export const isRecorded = (metric: string): boolean => metric.startsWith("quarry:")
