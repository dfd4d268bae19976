export const Brand = () => (
  <span class="brand">
    <svg viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5Z" fill="currentColor" opacity=".28" />
      <path
        d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5M2.5 20.5h19"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
    <span>Quarry</span>
  </span>
)
