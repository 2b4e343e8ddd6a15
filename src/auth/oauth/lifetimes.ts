/**
 * Lifetimes in the authorization server, in seconds. Short for credentials that can be stolen in transit; a
 * month for a person's decision, after which they are asked again.
 */

export const lifetimes = {
  accessToken: 15 * 60,
  code: 60,
  /**
   * Rotation does not extend it: a rotated refresh token expires when the first one of its grant would have.
   */
  refreshToken: 30 * 86_400,
  grant: 30 * 86_400,
  /** How long an authorization request waits for a person. */
  interaction: 10 * 60,
  /** A self-registered client that is not used for this long is deleted. */
  unusedClient: 30 * 86_400,
} as const
