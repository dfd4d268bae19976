/** An error of the last attempt, announced as it appears. */
export const Notice = ({ text }: { readonly text: string }) => (
  <p class="notice" role="alert">
    {text}
  </p>
)
