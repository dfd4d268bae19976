import { Context, type Effect } from "effect"

export interface Email {
  readonly to: string
  readonly subject: string
  /** Plain text; holds a link that is as good as a password while it lasts. */
  readonly text: string
}

/** Emails to the people behind accounts. */
export class Emails extends Context.Service<
  Emails,
  {
    /** Whether emails reach anybody. Where they do not, nobody can be made to confirm an address. */
    readonly delivers: boolean
    /** Never fails: one that could not be sent is logged, and its reader asks for another. */
    readonly send: (email: Email) => Effect.Effect<void>
  }
>()("quarry/services/Emails") {}
