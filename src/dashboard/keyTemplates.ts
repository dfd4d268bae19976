import { type BoundsText, toLocal } from "./bounds.ts"
import { dayMs } from "./credits/figures.ts"

export interface KeyTemplate {
  readonly value: string
  readonly text: string
  readonly hint: string
  readonly type: "live" | "test"
  readonly limits: string
  readonly bounds: (now: number) => Partial<BoundsText>
}

export const keyTemplates: readonly [KeyTemplate, ...ReadonlyArray<KeyTemplate>] = [
  {
    value: "app",
    text: "An app",
    hint: "A program on your server, which keeps the key secret.",
    type: "live",
    limits: "optional",
    bounds: () => ({})
  },
  {
    value: "browser",
    text: "A browser",
    hint: "Everyone who opens the page can read the key, so it gets a small daily budget.",
    type: "live",
    limits: "100 credits a day",
    bounds: () => ({ credits: "100", period: "day" })
  },
  {
    value: "colleague",
    text: "A colleague",
    hint: "A key of their own, which you can revoke without affecting others.",
    type: "live",
    limits: "1,000 credits a month, 90 days",
    bounds: (now) => ({ credits: "1000", period: "month", expires: toLocal(now + 90 * dayMs) })
  },
  {
    value: "test",
    text: "A test",
    hint: "Automated tests and experiments. It expires by itself.",
    type: "test",
    limits: "100 credits a day, 30 days",
    bounds: (now) => ({ credits: "100", period: "day", expires: toLocal(now + 30 * dayMs) })
  }
]
