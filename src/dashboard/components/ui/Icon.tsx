/** 20 by 20 line drawings. They are decorative, so a text label must accompany each. */
const paths = {
  overview: "M3 10.5 10 4l7 6.5M5 9v7h10V9",
  usage: "M4 16V9m4 7V4m4 12v-5m4 5V7",
  log: "M4 5h12M4 10h12M4 15h7",
  playground: "m8.5 13.5a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.6-1.4L16.5 16.5",
  keys: "M7 13a4 4 0 1 1 3.5-6H17v3h-2v2h-3v-1h-1.5A4 4 0 0 1 7 13Zm-1-4h.01",
  apps: "M4 4h5v5H4zm7 0h5v5h-5zM4 11h5v5H4zm7 0h5v5h-5z",
  webhooks: "M4 10a6 6 0 0 1 12 0v3l1.5 2h-15L4 13zm4.5 7h3",
  billing: "M3 6h14v9H3zm0 3h14",
  activity: "M3 11h3l2-6 4 10 2-4h3",
  account: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 7c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5",
  members:
    "M7.5 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-5 6.5c.5-2.6 2.5-4 5-4s4.5 1.4 5 4m0-11.5a2.5 2.5 0 0 1 0 5m2 2.5c1.7.6 2.7 1.9 3 4",
  docs: "M5 3h7l3 3v11H5zm7 0v3h3",
  menu: "M3 6h14M3 10h14M3 14h14",
  more: "M4.5 10a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0M9.5 10a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0M14.5 10a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0",
  close: "m5 5 10 10M15 5 5 15",
  copy: "M7 7V4h9v9h-3M4 7h9v9H4z",
  tick: "m4.5 10.5 3.5 3.5 7.5-8",
  warning: "M10 3.5 17.5 16.5h-15zM10 8v4m0 2.2v.1",
  out: "M8 4H4v12h4m3-9 3 3-3 3m3-3H8"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 20 20" fill="none" aria-hidden="true">
    <path d={paths[name]} stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
  </svg>
)
