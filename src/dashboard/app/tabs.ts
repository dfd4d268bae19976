export interface Tabs {
  readonly post: (message: string) => void
  /** Returns a function that stops listening. */
  readonly listen: (listener: (message: unknown) => void) => () => void
}

/** Messages to the other tabs of this browser. Browsers that block cookies refuse the channel; then nothing is sent. */
export const tabsOf = (name: string): Tabs => {
  try {
    const channel = new BroadcastChannel(name)
    return {
      post: (message) => channel.postMessage(message),
      listen: (listener) => {
        const onMessage = ({ data }: MessageEvent): void => listener(data)
        channel.addEventListener("message", onMessage)
        return () => channel.removeEventListener("message", onMessage)
      }
    }
  } catch {
    return { post: () => undefined, listen: () => () => undefined }
  }
}
