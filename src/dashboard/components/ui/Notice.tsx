/** An error message that screen readers announce when it appears. */
export const Notice = ({ text }: { readonly text: string }) => (
  <p class="notice" role="alert">
    {text}
  </p>
)
