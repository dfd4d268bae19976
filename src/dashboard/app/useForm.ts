import { useState } from "preact/hooks"
import type { ApiError, Result } from "../api/client.ts"
import { isExpired, readAgain } from "./session.ts"

export interface Form {
  readonly busy: boolean
  readonly error: ApiError | undefined
  readonly run: <A>(action: () => Promise<Result<A>>, onSuccess: (value: A) => void) => void
}

/** `isSignIn` is true for the form of the session dialog. All other forms leave an ended session to that dialog. */
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
        if (result.ok) return onSuccess(result.value)
        // Without a response, the change may have been made, so the page must show what is there now.
        if (result.error.status === 0) readAgain()
        if (isSignIn || result.error.code !== "unauthorized" || !isExpired.value) setError(result.error)
      })
    }
  }
}

/** Handles the submission of a form without leaving the page. */
export const submitting =
  (send: (form: HTMLFormElement) => void) =>
  (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault()
    send(event.currentTarget)
  }

export const fieldsOf = (form: HTMLFormElement): Readonly<Record<string, string>> =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
