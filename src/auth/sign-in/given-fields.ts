/**
 * What a visitor enters to get an account or a password: name, address and password, and the sentences that
 * say what is wrong with them. A refused value is never repeated.
 */
import { z } from 'zod'
import { isAcceptable, maxPasswordLength, minPasswordLength } from './password.ts'

/** Longer than any accepted e-mail address. */
const maxGivenEmail = 1024
const nameProblem = 'Enter a name of at most 100 characters'

/** How long a password is, to stand behind "must have" and the like. */
export const passwordRule = `${minPasswordLength} to ${maxPasswordLength} characters; length is what counts`
export const passwordProblem = `Choose a password of ${passwordRule}`

export const GivenName = z
  .string(nameProblem)
  .trim()
  .regex(/^[^\p{Cc}]{1,100}$/u, nameProblem)
export const GivenPassword = z.string(passwordProblem).refine(isAcceptable, passwordProblem)

/**
 * Whether an account may have the address. These are not the present rules for addresses: the user may have
 * been created under earlier ones.
 */
export function mayBeEmail(text: string): boolean {
  return text.includes('@') && text.length <= maxGivenEmail && !/\p{Cc}/u.test(text)
}
