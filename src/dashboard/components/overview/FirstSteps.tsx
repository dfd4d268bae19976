import { useEffect, useState } from "preact/hooks"
import { areStepsHidden, hideSteps } from "../../app/preferences.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { home } from "../../app/router.ts"
import { type Draft, readDraft } from "../../search/draft.ts"
import { type Language, snippetsOf } from "../../search/snippets.ts"
import { Button } from "../ui/Button.tsx"
import { Choice } from "../ui/Choice.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Meter } from "../ui/Meter.tsx"

const languages = [
  { value: "curl", text: "curl" },
  { value: "typescript", text: "TypeScript" },
  { value: "python", text: "Python" }
]

const empty = readDraft(new URLSearchParams())
const searchDraft: Draft = { ...empty, query: "http caching" }
const pageDraft: Draft = { ...empty, mode: "page", urls: "https://example.com/" }

const programs = (origin: string): Readonly<Record<string, { readonly text: string; readonly code: string }>> => ({
  claude: { text: "Claude Code", code: `claude mcp add --transport http quarry ${origin}/mcp` },
  codex: { text: "Codex", code: `codex mcp add quarry --url ${origin}/mcp\ncodex mcp login quarry` },
  gemini: { text: "Gemini CLI", code: `gemini mcp add --transport http quarry ${origin}/mcp` },
  cursor: {
    text: "Cursor",
    code: `// ~/.cursor/mcp.json\n${JSON.stringify({ mcpServers: { quarry: { url: `${origin}/mcp` } } }, null, 2)}`
  },
  vscode: {
    text: "VS Code",
    code: `// .vscode/mcp.json\n${JSON.stringify({ servers: { quarry: { type: "http", url: `${origin}/mcp` } } }, null, 2)}`
  }
})

const Code = ({ draft }: { readonly draft: Draft }) => {
  const [language, setLanguage] = useState<Language>("curl")
  return (
    <>
      <Choice
        legend="Language"
        value={language}
        options={languages}
        onChange={(value) => setLanguage(value === "typescript" || value === "python" ? value : "curl")}
      />
      {snippetsOf(draft, language, location.origin).map(({ text, title }) => (
        <CodeBlock key={title} isCode title={title} what="the code" text={text} />
      ))}
    </>
  )
}

const Agent = () => {
  const [program, setProgram] = useState("claude")
  const known = programs(location.origin)
  return (
    <>
      <Choice
        legend="Program"
        value={program}
        options={Object.entries(known).map(([value, { text }]) => ({ value, text }))}
        onChange={setProgram}
      />
      <CodeBlock isCode title={known[program]?.text ?? ""} what="the code" text={known[program]?.code ?? ""} />
      <p>The program opens a page of this server, on which you allow it to search for you.</p>
    </>
  )
}

interface StepProps {
  readonly title: string
  readonly isDone: boolean
  readonly isNext: boolean
  readonly children: preact.ComponentChildren
}

const Step = ({ children, isDone, isNext, title }: StepProps) => (
  <li class={isDone ? "step done" : "step"}>
    <details open={isNext}>
      <summary>
        <h3>{title}</h3>
        {isDone && (
          <span class="tick">
            <Icon name="tick" />
            Done
          </span>
        )}
      </summary>
      <div class="stack">{children}</div>
    </details>
  </li>
)

const steps = [
  { title: "Create an API key", link: { text: "Create a key", path: "keys?create=app" } },
  {
    title: "Run your first search",
    link: { text: "Search in the playground", path: "playground?query=http+caching" }
  },
  {
    title: "Read your first page",
    link: { text: "Read a page in the playground", path: "playground?mode=page&urls=https%3A%2F%2Fexample.com%2F" }
  },
  { title: "Connect an agent", link: undefined }
] as const

const StepLink = ({ index }: { readonly index: number }) => {
  const link = steps[index]?.link
  return link === undefined ? null : <a href={`${home}/${link.path}`}>{link.text}</a>
}

const Bodies = ({ done }: { readonly done: ReadonlyArray<boolean> }) => {
  const next = done.indexOf(false)
  const step = (index: number) => ({
    title: steps[index]?.title ?? "",
    isDone: done[index] === true,
    isNext: index === next
  })
  return (
    <ol class="steps">
      <Step {...step(0)}>
        <p>
          Programs send a key with each request. <StepLink index={0} /> and put it into your environment as{" "}
          <code>QUARRY_API_KEY</code>.
        </p>
      </Step>
      <Step {...step(1)}>
        <p>
          <StepLink index={1} />, which needs no key, or run this:
        </p>
        <Code draft={searchDraft} />
      </Step>
      <Step {...step(2)}>
        <p>
          <StepLink index={2} />, or run this:
        </p>
        <Code draft={pageDraft} />
      </Step>
      <Step {...step(3)}>
        <Agent />
      </Step>
    </ol>
  )
}

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
  const [next, count] = [done.indexOf(false), done.filter(Boolean).length]
  return (
    <section class="card wide checklist">
      <span class="soft">{`First steps, ${count} of ${done.length} done.`}</span>
      <h2>{steps[next]?.title}</h2>
      <StepLink index={next} />
      <Meter isHarmless label="First steps done" used={count} of={done.length} />
      <details>
        <summary>All steps</summary>
        <Bodies done={done} />
        <Button small kind="quiet" onClick={hideSteps}>
          Hide the first steps
        </Button>
      </details>
    </section>
  )
}
