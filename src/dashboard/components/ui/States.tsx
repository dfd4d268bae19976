import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useId, useState } from "preact/hooks"
import type { ApiError } from "../../api/client.ts"
import { lastOf, type Resource } from "../../app/resource.ts"
import { readAgain } from "../../app/session.ts"
import { plural } from "../../format.ts"
import { Button } from "./Button.tsx"

export const Skeleton = ({ height, label = "Loading" }: { readonly height: number; readonly label?: string }) => (
  <div class="skeleton" style={{ height: `${height}px` }} role="status">
    <span class="hidden">{label}</span>
  </div>
)

export interface EmptyStateProps {
  readonly title: string
  readonly children?: ComponentChildren
  readonly action?: ComponentChildren
}

export const EmptyState = ({ action, children, title }: EmptyStateProps) => (
  <div class="state">
    <h2>{title}</h2>
    {children && <p>{children}</p>}
    {action}
  </div>
)

const headings: Readonly<Record<string, string>> = {
  offline: "You seem to be offline",
  rate_limited: "Too many requests",
  not_found: "Not found",
  forbidden: "Your role does not allow this",
  invalid_request: "Invalid request",
  unsupported_geo: "This country is not supported",
  unsupported_parameter: "Not supported by this target",
  quota_exceeded: "No credits left",
  upstream_error: "The search failed",
  upstream_timeout: "The search took too long",
  internal_error: "Something failed on our side"
}

const useCountdown = (seconds: number): number => {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    setLeft(seconds)
    const timer = setInterval(() => setLeft((left) => Math.max(0, left - 1)), 1_000)
    return () => clearInterval(timer)
  }, [seconds])
  return left
}

export interface ErrorStateProps {
  readonly error: ApiError
  readonly retry?: (() => void) | undefined
  readonly children?: ComponentChildren
}

export const ErrorState = ({ children, error, retry }: ErrorStateProps) => {
  const left = useCountdown(error.retryAfterSeconds ?? 0)
  return (
    <div class="state failed" role="alert">
      <h2>{headings[error.code] ?? "Something went wrong"}</h2>
      <p>{error.message}</p>
      {children}
      {error.requestId && (
        <p class="soft">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {retry && (
        <Button onClick={retry} disabled={left > 0}>
          {left > 0 ? `Try again in ${plural(left, "second")}` : "Try again"}
        </Button>
      )}
    </div>
  )
}

export interface LoadedProps<A> {
  readonly resource: Resource<A>
  readonly height: number
  readonly children: (value: A) => ComponentChildren
}

const unreached = signal<ReadonlyArray<string>>([])

/** Only the first part without data shows the error, because the others would repeat it. */
const useFirstUnreached = (isUnreached: boolean): boolean => {
  const id = useId()
  useEffect(() => {
    if (!isUnreached) return undefined
    unreached.value = [...unreached.peek(), id]
    return () => {
      unreached.value = unreached.peek().filter((other) => other !== id)
    }
  }, [isUnreached])
  return unreached.value[0] === id
}

export const Loaded = <A,>({ children, height, resource }: LoadedProps<A>) => {
  const state = resource.state.value
  const isUnreached = state._tag === "failed" && state.error.code === "offline"
  const isFirst = useFirstUnreached(isUnreached)
  if (isUnreached && !isFirst) return <p class="soft">Not loaded.</p>
  if (state._tag === "failed") return <ErrorState error={state.error} retry={isFirst ? readAgain : resource.reload} />
  const value = lastOf(state)
  if (value === undefined) return <Skeleton height={height} />
  return <div aria-busy={state._tag === "loading"}>{children(value)}</div>
}
