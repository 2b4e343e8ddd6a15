/**
 * Challenges for passkeys: 32 random bytes, valid for ten minutes, for one purpose and in the browser or
 * session that they were made for. Nothing is stored: the page holds the challenge sealed, and only one that
 * was answered correctly is remembered until it expires, so that the answer counts once.
 */
import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { AnsweredChallenge } from '#store/ports/passkeys.ts'
import { SealError } from '#store/seal.ts'
import type { ProofOptions } from '../proofs.ts'

/** What an answer is for: it is of no use for anything else. */
export type ChallengePurpose = 'sign-in' | 'second-step' | 'add'

/** Whose challenge it is: what only this browser has, or the id of a session. */
export interface ChallengeFor {
  readonly purpose: ChallengePurpose
  readonly binding: string
}

/** A challenge that a page holds. */
export interface MadeChallenge {
  /** As the authenticator signs it (base64url). */
  readonly challenge: string
  /** Text for a hidden field. */
  readonly sealed: string
}

export interface OpenedChallenge extends AnsweredChallenge {
  readonly challenge: string
}

export const challengeLifeSeconds = 600
const purpose = 'passkey-challenge'

const Held = z.strictObject({ challenge: z.base64url(), until: z.int() })
type Held = z.infer<typeof Held>

type Sealing = Pick<ProofOptions, 'sealer' | 'clock'>

const nameOf = (whose: ChallengeFor) => JSON.stringify([whose.purpose, whose.binding])

/** A random challenge, and a sealed copy that a form carries back until it expires. */
export function makeChallenge({ sealer, clock }: Sealing, whose: ChallengeFor): MadeChallenge {
  const challenge = randomBytes(32).toString('base64url')
  const held: Held = { challenge, until: clock.now() + challengeLifeSeconds * 1000 }
  const bytes = Buffer.from(JSON.stringify(held), 'utf8')
  const sealed = Buffer.from(sealer.seal(purpose, nameOf(whose), bytes)).toString('base64url')
  return { challenge, sealed }
}

/** Null when it has expired, is another's or is damaged. */
export function openChallenge(
  { sealer, clock }: Sealing,
  whose: ChallengeFor,
  sealed: string,
): OpenedChallenge | null {
  try {
    const bytes = sealer.open(purpose, nameOf(whose), Buffer.from(sealed, 'base64url'))
    const { challenge, until } = Held.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
    if (clock.now() >= until) return null
    return { challenge, hash: hash('sha256', challenge, 'buffer'), expiresAt: until }
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}
