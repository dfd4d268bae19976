import type { ComponentChildren } from "preact"
import { queryText } from "../../api/client.ts"
import { now } from "../../app/clock.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { isOneOf } from "../../app/roles.ts"
import { home } from "../../app/router.ts"
import { type Facts, type Problem, problemsOf } from "../../credits/problems.ts"
import { formatDayAndYear, formatNumber, formatPercent, formatRelative } from "../../format.ts"
import { mayOpen } from "../pages.ts"
import { Icon } from "../ui/Icon.tsx"

interface Words {
  readonly text: ComponentChildren
  readonly link: { readonly path: string; readonly text: string } | undefined
}

/** Without open billing, only the operator grants credits. */
const moreCredits = ({ billing }: Facts): Words["link"] =>
  billing?.open === false ? undefined : { path: "billing", text: "Get credits" }

const askOperator = ({ billing }: Facts): string =>
  billing?.open === false ? " Ask the operator of this server for more." : ""

const wordsOf = (problem: Problem, facts: Facts): Words => {
  switch (problem._tag) {
    case "exhausted":
      return {
        text: `You have no credits left, so searches fail.${problem.resetsAt === null ? "" : ` Your quota renews ${formatRelative(problem.resetsAt)}.`}${askOperator(facts)}`,
        link: moreCredits(facts)
      }
    case "low":
      return {
        text: `You have ${formatNumber(problem.left)} credits left, ${formatPercent(problem.share)} of your quota.${askOperator(facts)}`,
        link: moreCredits(facts)
      }
    case "failures":
      return {
        text: `${formatNumber(problem.failed)} of ${formatNumber(problem.searches)} searches failed today${problem.target === undefined ? "" : `, most of them on ${problem.target}`}.`,
        link: {
          path: `log${queryText({ range: "24h", status: "upstream_error", target: problem.target })}`,
          text: "View failed searches"
        }
      }
    case "webhook":
      return {
        text: (
          <>
            {problem.isDisabled
              ? "A webhook was disabled because deliveries failed: "
              : "Deliveries to a webhook fail: "}
            <bdi class="address">{problem.url}</bdi>
          </>
        ),
        link: { path: `webhooks?webhook=${problem.id}`, text: "View deliveries" }
      }
    case "expiring":
      return {
        text: (
          <>
            The key <bdi class="address">{problem.name}</bdi> expires {formatRelative(problem.at)}.
          </>
        ),
        link: { path: "keys", text: "Change its limits" }
      }
    case "pastDue":
      return { text: "The last payment failed. Check your card.", link: { path: "billing", text: "Open billing" } }
    case "pending":
      return {
        text: `Your plan changes${problem.at === null ? " soon" : ` on ${formatDayAndYear(problem.at)}`}.`,
        link: { path: "billing", text: "Review the change" }
      }
    case "ending":
      return {
        text: `Your subscription ends on ${formatDayAndYear(problem.at)}.`,
        link: { path: "billing", text: "Keep the plan" }
      }
  }
}

export const Problems = ({ keys, today, usage }: Pick<Facts, "keys" | "today" | "usage">) => {
  const webhooks =
    lastOf(useRoute("GET /v1/webhooks", isOneOf("builders") ? {} : undefined).state.value)?.webhooks ?? []
  const billing = lastOf(useRoute("GET /v1/billing", isOneOf("payers") ? {} : undefined).state.value)
  const facts = { usage, today, keys, webhooks, billing }
  const problems = problemsOf(facts, now())
  if (problems.length === 0) return null
  return (
    <ul class="problems wide" aria-label="Needs attention">
      {problems.map((problem, index) => {
        const { link, text } = wordsOf(problem, facts)
        return (
          <li key={index} class={problem._tag === "pending" ? "problem info" : "problem"}>
            <Icon name="warning" />
            <p>{text}</p>
            {link && mayOpen(`${home}/${link.path.split("?")[0]}`) && (
              <a class="button small" href={`${home}/${link.path}`}>
                {link.text}
              </a>
            )}
          </li>
        )
      })}
    </ul>
  )
}
