export const Notice = ({ text }: { readonly text: string }) => (
  <p class="notice" role="alert">
    {text}
  </p>
)
