import { useState } from "preact/hooks"
import { call } from "../../api/client.ts"
import type { Key, LoggedSearch } from "../../api/routes.ts"
import { saveCsv } from "../../app/saveFile.ts"
import { csvOf } from "../../credits/csv.ts"
import { formatNumber, plural } from "../../format.ts"
import { logCsv } from "../../search/logView.ts"
import { Button } from "../ui/Button.tsx"
import { announce } from "../ui/Toast.tsx"

const pageEntries = 100
/** Each page is a request, and requests are limited per minute. */
const maxPages = 20

export const LogExport = ({
  keys,
  parameters
}: {
  readonly keys: ReadonlyArray<Key>
  readonly parameters: Readonly<Record<string, string>>
}) => {
  const [count, setCount] = useState<number>()
  const run = async (): Promise<void> => {
    const entries: Array<LoggedSearch> = []
    let cursor: string | undefined
    setCount(0)
    for (let page = 0; page < maxPages; page++) {
      const result = await call("GET /v1/query/history", { query: { ...parameters, cursor, limit: pageEntries } })
      if (!result.ok) {
        setCount(undefined)
        return announce(`The log could not be exported. ${result.error.message}`)
      }
      entries.push(...result.value.queries)
      setCount(entries.length)
      cursor = result.value.next_cursor ?? undefined
      if (cursor === undefined) break
    }
    setCount(undefined)
    const nameOf = (id: string): string => keys.find((key) => key.id === id)?.name ?? ""
    saveCsv("quarry-log.csv", csvOf(logCsv(entries, nameOf)))
    announce(
      cursor === undefined
        ? `Exported ${plural(entries.length, "entry", "entries")}.`
        : `Exported the newest ${formatNumber(entries.length)} entries. Choose a shorter range, or export your whole account on the Account page.`
    )
  }
  return (
    <Button busy={count !== undefined} onClick={() => void run()}>
      {count === undefined ? "Export CSV" : `Exporting ${formatNumber(count)}`}
    </Button>
  )
}
