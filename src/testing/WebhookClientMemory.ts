import { Context, Effect, Layer } from "effect"
import {
  AddressClosed,
  hostClosed,
  type WebhookAnswer,
  WebhookClient,
  type WebhookPost,
  WebhookUnreachable
} from "../services/webhooks/WebhookClient.ts"

export class Receivers extends Context.Service<
  Receivers,
  {
    readonly posts: Array<WebhookPost>
    answer: (post: WebhookPost) => WebhookAnswer | undefined
    reason: string
    isClosed: (url: string) => boolean
    isSilent: (url: string) => boolean
  }
>()("quarry/testing/Receivers") {}

export const layer: Layer.Layer<WebhookClient | Receivers> = Layer.effectContext(
  Effect.sync(() => {
    const receivers: Receivers["Service"] = {
      posts: [],
      answer: () => ({ status: 200, retryAfterMs: 0 }),
      reason: "ECONNREFUSED",
      isClosed: () => false,
      isSilent: () => false
    }
    const late = new WebhookUnreachable({ reason: "no response within 15 seconds" })
    const check = (url: string) =>
      Effect.suspend(() =>
        receivers.isClosed(url)
          ? Effect.fail(
              new AddressClosed({ reason: "not all of its addresses are on the public internet", shown: hostClosed })
            )
          : Effect.void
      )
    const client = WebhookClient.of({
      check,
      post: (post) =>
        Effect.andThen(
          check(post.url),
          Effect.suspend(() => {
            if (receivers.isSilent(post.url)) return Effect.andThen(Effect.sleep("15 seconds"), Effect.fail(late))
            const answer = receivers.answer(post)
            if (answer === undefined) return Effect.fail(new WebhookUnreachable({ reason: receivers.reason }))
            receivers.posts.push(post)
            return Effect.succeed(answer)
          })
        )
    })
    return Context.make(WebhookClient, client).pipe(Context.add(Receivers, receivers))
  })
)
