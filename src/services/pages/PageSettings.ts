import { Context, type Duration } from "effect"

export class PageSettings extends Context.Service<
  PageSettings,
  {
    /** If false, the routes and the tool do not exist. */
    readonly isOn: boolean
    /** Limits the time until the site has sent the whole page. */
    readonly timeout: Duration.Duration
    /** The maximum age of copies for requests without `max_age`; 0 disables copies. */
    readonly cacheTtl: Duration.Duration
  }
>()("quarry/services/pages/PageSettings") {}
