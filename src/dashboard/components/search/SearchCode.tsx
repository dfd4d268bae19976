import { home, place, setQuery } from "../../app/router.ts"
import type { Draft } from "../../search/draft.ts"
import { languages, snippetsOf } from "../../search/snippets.ts"
import { Card } from "../ui/Card.tsx"
import { Choice } from "../ui/Choice.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"

const withQuery = (draft: Draft): Draft => ({
  ...draft,
  query: draft.query.trim() === "" ? "http caching" : draft.query,
  queries: draft.queries.trim() === "" ? "http caching\netag" : draft.queries,
  urls: draft.urls.trim() === "" ? "https://example.com/" : draft.urls
})

export const SearchCode = ({ draft }: { readonly draft: Draft }) => {
  const language = languages.find(({ value }) => value === place.value.query.get("code"))?.value ?? "curl"
  return (
    <Card title="Code">
      <div class="stack">
        <Choice
          legend="Language"
          value={language}
          options={languages}
          onChange={(code) => setQuery({ code: code === "curl" ? undefined : code })}
        />
        {snippetsOf(withQuery(draft), language, location.origin).map(({ text, title }) => (
          <CodeBlock key={title} title={title} text={text} what="the code" />
        ))}
        <p class="soft">
          The code reads <code>QUARRY_API_KEY</code> from the environment. <a href={`${home}/keys`}>Create a key</a>
        </p>
      </div>
    </Card>
  )
}
