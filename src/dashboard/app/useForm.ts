import { useState } from "preact/hooks"
import type { ApiError, Result } from "../api/client.ts"
import { isExpired } from "./session.ts"

export interface Form {
  readonly busy: boolean
  readonly error: ApiError | undefined
  /** Runs an action unless one is already running, and calls `onSuccess` with its value. */
  readonly run: <A>(action: () => Promise<Result<A>>, onSuccess: (value: A) => void) => void
}

/** `isSignIn` is true for the form that answers the end of a session; all others leave that to it. */
export const useForm = ({ isSignIn = false }: { readonly isSignIn?: boolean } = {}): Form => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  return {
    busy,
    error,
    run: (action, onSuccess) => {
      if (busy) return
      setBusy(true)
      setError(undefined)
      void action().then((result) => {
        setBusy(false)
        if (result.ok) onSuccess(result.value)
        // The page asks for the password, and the person repeats the action.
        else if (isSignIn || result.error.code !== "unauthorized" || !isExpired.value) setError(result.error)
      })
    }
  }
}

export const fieldsOf = (form: HTMLFormElement): Readonly<Record<string, string>> =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
