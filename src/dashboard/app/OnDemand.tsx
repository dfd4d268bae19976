import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Broken } from "../components/Broken.tsx"
import { Skeleton } from "../components/ui/States.tsx"

type Pages = typeof import("../pages/onDemand.ts")

const pages = signal<Pages | "failed" | undefined>(undefined)

const load = async (): Promise<void> => {
  try {
    pages.value = await import("../pages/onDemand.ts")
  } catch {
    pages.value = "failed"
  }
}

/** Renders a page of `pages/onDemand.ts` as soon as its script is there. */
export const OnDemand = ({ name }: { readonly name: keyof Pages }) => {
  useEffect(() => void load(), [])
  const loaded = pages.value
  if (loaded === undefined) return <Skeleton height={400} />
  if (loaded === "failed") {
    return (
      <Broken title="This page could not be loaded">
        You are offline, or Quarry was updated while this tab was open. Reload to continue.
      </Broken>
    )
  }
  const Page = loaded[name]
  return <Page />
}
