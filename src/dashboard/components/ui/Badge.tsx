export interface BadgeProps {
  readonly text: string
  readonly kind?: "ok" | "bad" | "slow" | "plain"
}

export const Badge = ({ kind = "plain", text }: BadgeProps) => <span class={`badge ${kind}`}>{text}</span>

export const outcomes = {
  ok: { text: "ok", kind: "ok" },
  upstream_error: { text: "failed", kind: "bad" },
  upstream_timeout: { text: "timed out", kind: "slow" },
  page_unreadable: { text: "unreadable", kind: "bad" }
} as const

/** Undefined for any text that is not an outcome. */
export const outcomeOf = (text: string): BadgeProps | undefined =>
  Object.entries(outcomes).find(([code]) => code === text)?.[1]

export const Outcome = ({ cached, status }: { readonly cached: boolean; readonly status: keyof typeof outcomes }) => (
  <span class="badges">
    <Badge {...outcomes[status]} />
    {cached && <Badge text="cached" />}
  </span>
)
