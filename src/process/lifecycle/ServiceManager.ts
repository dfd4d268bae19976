import { execFile } from "node:child_process"
import { Effect } from "effect"

const timeoutMs = 5_000

/**
 * Notifies systemd that the service is ready, for units with `Type=notify`. Does nothing without `NOTIFY_SOCKET`. Runs
 * `systemd-notify`, because Node does not support Unix datagram sockets.
 */
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
