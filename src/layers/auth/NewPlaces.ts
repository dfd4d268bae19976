import { createHash } from "node:crypto"
import { Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { clientSite } from "../../domain/accounts/ClientAddress.ts"
import { rowOf } from "../sql/Rows.ts"
import type { Mail } from "./emails/Mail.ts"
import { currentNotes } from "./Requester.ts"

const forgottenAfter = Duration.days(90)

const maxPlaces = 50

const placeRow = rowOf(Schema.Struct({ is_new: Schema.Boolean }))

interface SignedIn {
  readonly session: { readonly id: string; readonly userAgent?: string | null | undefined }
  readonly user: { readonly id: string; readonly email: string }
}

/** Emails the person about a sign-in from a browser and network that were not seen for a while, except the first (R66). */
export const makeNotePlace = Effect.fnUntraced(function* (mail: Mail) {
  const sql = yield* SqlClient.SqlClient
  return Effect.fnUntraced(function* ({ session, user }: SignedIn) {
    const { requester } = currentNotes()
    const userAgent = session.userAgent ?? ""
    // Without versions, which change every month.
    const place = `${userAgent.replaceAll(/[\d.]+/g, "")} ${clientSite(requester.address) ?? "this machine"}`
    const digest = createHash("sha256").update(place).digest("base64url")
    const row = yield* placeRow(sql`
      with before as (
        select count(*) as places, count(*) filter (
          where digest = ${digest}
            and seen_at > clock_timestamp() - ${Duration.toMillis(forgottenAfter)} * interval '1 millisecond'
        ) as seen from auth_places where user_id = ${user.id}
      ), noted as (
        insert into auth_places (user_id, digest, seen_at) values (${user.id}, ${digest}, clock_timestamp())
        on conflict (user_id, digest) do update set seen_at = excluded.seen_at
      )
      select places > 0 and seen = 0 as is_new from before`)
    if (row?.is_new !== true) return
    mail.sendNewPlace(requester, { sessionId: session.id, userAgent, to: user.email })
    yield* sql`
      delete from auth_places where user_id = ${user.id} and digest in (
        select digest from auth_places where user_id = ${user.id} order by seen_at desc offset ${maxPlaces}
      )`
  })
})

export type NotePlace = Effect.Success<ReturnType<typeof makeNotePlace>>
