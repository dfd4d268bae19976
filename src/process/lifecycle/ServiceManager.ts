import { execFile } from "node:child_process"
import { Effect } from "effect"

const timeoutMs = 5_000

/** For systemd units with `Type=notify`. Node does not support Unix datagram sockets, so this runs `systemd-notify`. */
export const notifyReady: Effect.Effect<void> = Effect.suspend(() => {
  if (process.env.NOTIFY_SOCKET === undefined) return Effect.void
  return Effect.callback<void, Error>((resume) => {
    execFile("systemd-notify", ["--ready"], { timeout: timeoutMs }, (error) =>
      resume(error === null ? Effect.void : Effect.fail(error))
    )
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.logWarning(
        `systemd could not be notified that Quarry is ready and may stop it after TimeoutStartSec: ${message}`
      )
    )
  )
})
