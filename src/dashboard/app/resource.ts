import { type Signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { type ApiError, call } from "../api/client.ts"
import type { Answer, Input, RouteName } from "../api/routes.ts"
import { epoch } from "./session.ts"

export type Loadable<A> =
  | { readonly _tag: "loading"; readonly previous: A | undefined }
  | { readonly _tag: "ready"; readonly value: A }
  | { readonly _tag: "failed"; readonly error: ApiError }

export interface Resource<A> {
  readonly state: Signal<Loadable<A>>
  readonly reload: () => void
  /** Reloads without a loading state. A failure keeps the last value. */
  readonly refresh: () => void
}

export const lastOf = <A>(state: Loadable<A>): A | undefined =>
  state._tag === "ready" ? state.value : state._tag === "loading" ? state.previous : undefined

/**
 * Calls a route on mount and whenever the input changes. Responses to superseded requests are dropped. Waits while the
 * input is undefined.
 */
export const useRoute = <R extends RouteName>(route: R, input: Input<R> | undefined): Resource<Answer<R>> => {
  const state = useSignal<Loadable<Answer<R>>>({ _tag: "loading", previous: undefined })
  const running = useRef<AbortController>(undefined)
  const key = JSON.stringify(input)

  const load = async (isQuiet = false): Promise<void> => {
    running.current?.abort()
    if (input === undefined) return
    const controller = new AbortController()
    running.current = controller
    if (!isQuiet) state.value = { _tag: "loading", previous: lastOf(state.peek()) }
    const result = await call(route, { ...input, signal: controller.signal })
    // A 401 opens the session dialog, and signing in reads the data again.
    if (controller.signal.aborted || (!result.ok && result.error.code === "unauthorized")) return
    if (isQuiet && !result.ok) return
    state.value = result.ok ? { _tag: "ready", value: result.value } : { _tag: "failed", error: result.error }
  }

  useEffect(() => {
    void load()
    return () => running.current?.abort()
  }, [route, key, epoch.value])

  return { state, reload: () => void load(), refresh: () => void load(true) }
}
