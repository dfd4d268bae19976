import { useEffect } from "preact/hooks"
import { areStepsHidden, hideSteps } from "../../app/preferences.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { home } from "../../app/router.ts"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Meter } from "../ui/Meter.tsx"

const steps = [
  { title: "Create an API key", text: "Create a key", path: "keys?create=app" },
  { title: "Run your first search", text: "Search in the playground", path: "playground?query=http+caching" },
  {
    title: "Read your first page",
    text: "Read a page in the playground",
    path: "playground?mode=page&urls=https%3A%2F%2Fexample.com%2F"
  },
  { title: "Connect an agent", text: "View the commands", path: "playground?query=http+caching&code=agents" }
] as const

export interface FirstStepsProps {
  /** Undefined until it is known. */
  readonly hasKey: boolean | undefined
  readonly hasSearch: boolean | undefined
}

export const FirstSteps = ({ hasKey, hasSearch }: FirstStepsProps) => {
  const pages = lastOf(useRoute("GET /v1/query/history", { query: { target: "page", limit: 1 } }).state.value)
  const agents = lastOf(useRoute("GET /v1/query/history", { query: { source: "mcp", limit: 1 } }).state.value)
  const apps = lastOf(useRoute("GET /v1/apps", {}).state.value)
  const isKnown =
    hasKey !== undefined && hasSearch !== undefined && pages !== undefined && agents !== undefined && apps !== undefined
  const done = [
    hasKey === true,
    hasSearch === true,
    (pages?.queries.length ?? 0) > 0,
    (agents?.queries.length ?? 0) > 0 || (apps?.apps.length ?? 0) > 0
  ]
  const isDone = isKnown && done.every(Boolean)
  useEffect(() => {
    if (isDone) hideSteps()
  }, [isDone])
  if (areStepsHidden.value || isDone) return null
  if (!isKnown) return <div class="card wide checklist" />
  const [next, count] = [steps[done.indexOf(false)], done.filter(Boolean).length]
  return (
    <section class="card wide checklist">
      <span class="soft">{`First steps, ${count} of ${done.length} done.`}</span>
      <h2>{next?.title}</h2>
      <a href={`${home}/${next?.path}`}>{next?.text}</a>
      <Meter isHarmless label="First steps done" used={count} of={done.length} />
      <details>
        <summary>All steps</summary>
        <ol class="steps">
          {steps.map(({ path, title }, index) => (
            <li key={title} class={done[index] ? "done" : undefined}>
              <a href={`${home}/${path}`}>{title}</a>
              {done[index] && (
                <span class="tick">
                  <Icon name="tick" />
                  Done
                </span>
              )}
            </li>
          ))}
        </ol>
        <Button small kind="quiet" onClick={hideSteps}>
          Hide the first steps
        </Button>
      </details>
    </section>
  )
}
