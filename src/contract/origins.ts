/** The public addresses of this service. Which setting each comes from is the configuration's matter. */

/** Without a trailing slash. */
export interface Origins {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}
