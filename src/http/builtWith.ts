import { Context, Effect, Layer } from "effect"

/**
 * Builds a group with only the given services and references. `HttpApiBuilder` merges the context in which it built a
 * group into the context of each request, which copies every entry.
 */
export const builtWith = <Keys extends ReadonlyArray<Context.Key<unknown, unknown>>>(...keys: Keys) => {
  type Given = Context.Service.Identifier<Keys[number]>
  return <A, E>(group: Layer.Layer<A, E, Given>): Layer.Layer<A, E, Given> =>
    Layer.fromBuild((memoMap, scope) =>
      Effect.updateContext(Layer.buildWithMemoMap(group, memoMap, scope), (all: Context.Context<Given>) =>
        Context.pick(...keys)(all)
      )
    )
}
