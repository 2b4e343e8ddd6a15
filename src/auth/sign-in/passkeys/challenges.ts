/**
 * Challenges for passkeys: 32 random bytes, valid for ten minutes, for one purpose and in the browser or
 * session that they were made for. Nothing is stored: the page holds the challenge sealed, and only one that
 * was answered correctly is remembered until it expires, so that the answer counts once.
 */
import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { AnsweredChallenge } from '#store/ports/passkeys.ts'
import type { ProofOptions } from '../proofs.ts'
import { defineNotes } from '../sealed-notes.ts'

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
const held = defineNotes('passkey-challenge', challengeLifeSeconds * 1000, {
  challenge: z.base64url(),
})

type Sealing = Pick<ProofOptions, 'sealer' | 'clock'>

const nameOf = (whose: ChallengeFor) => JSON.stringify([whose.purpose, whose.binding])

/** A random challenge, and a sealed copy that a form carries back until it expires. */
export function makeChallenge(options: Sealing, whose: ChallengeFor): MadeChallenge {
  const challenge = randomBytes(32).toString('base64url')
  return { challenge, sealed: held.seal(options, nameOf(whose), { challenge }) }
}

/** Null when it has expired, is another's or is damaged. */
export function openChallenge(
  options: Sealing,
  whose: ChallengeFor,
  sealed: string,
): OpenedChallenge | null {
  const opened = held.open(options, nameOf(whose), sealed)
  if (opened === null) return null
  const { challenge, until } = opened
  return { challenge, hash: hash('sha256', challenge, 'buffer'), expiresAt: until }
}
