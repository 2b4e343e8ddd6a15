/**
 * How long things of the authorization server live, in seconds. Short for what can be stolen in passing, a month for
 * what a person decided: then they are asked again.
 */

export const lifetimes = {
  accessToken: 15 * 60,
  code: 60,
  /** A refresh token that was rotated ends when the first of its line would have. */
  refreshToken: 30 * 86_400,
  grant: 30 * 86_400,
  /** A request waits so long for a person. */
  interaction: 60 * 60,
  /** A client that registered itself and is not used for so long is forgotten. */
  unusedClient: 30 * 86_400,
} as const
