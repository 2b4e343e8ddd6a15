/**
 * Is this a code of the person's second factor? Reading says whether it is right and unused; consuming, in
 * the transaction of what the code allows, makes sure that it is used once. The answer of a passkey is
 * consumed in the same way.
 */
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PasskeyUse } from '#store/ports/passkeys.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { SealError } from '#store/seal.ts'
import { readRecoveryCode } from './recovery-codes.ts'
import { findStep } from './totp.ts'

/** A code that was right when it was read. */
export type RightCode =
  | { readonly kind: 'step'; readonly createdAt: number; readonly step: number }
  | { readonly kind: 'recovery'; readonly hash: Uint8Array }
  | { readonly kind: 'passkey'; readonly use: PasskeyUse }

export interface CheckCodeOptions {
  readonly store: Pick<Store, 'secondFactors'>
  readonly clock: Clock
  /** A stored row that is to prove who somebody is cannot be read. The message says what mends it. */
  readonly onDamaged: (error: Error) => void
}

/** Longer than any code with its separators. */
const maxTyped = 64

/** A code as typed, without the blanks and hyphens that people put into it; bounded. */
export function toPlain(typed: string): string {
  return typed.slice(0, maxTyped).replace(/[\s-]/g, '')
}

/** Null when the code is wrong or was used. 'damaged': the app's secret does not open, which is reported. */
export async function readCode(
  { store, clock, onDamaged }: CheckCodeOptions,
  userId: UserId,
  typed: string,
): Promise<RightCode | 'damaged' | null> {
  const { secondFactors } = store
  const text = toPlain(typed)
  const hash = readRecoveryCode(text)
  if (hash !== null) {
    return (await secondFactors.hasCode(userId, hash)) ? { kind: 'recovery', hash } : null
  }
  const factor = await secondFactors.find(userId).catch((cause: unknown) => {
    if (!(cause instanceof SealError)) throw cause
    const mend = `\`tributary users reset-second-factor ${userId}\` removes it`
    onDamaged(new Error(`a stored second factor is damaged: ${mend}`, { cause }))
    return 'damaged' as const
  })
  if (factor === 'damaged') return factor
  const step = factor === null ? null : findStep(factor.secret, text, clock.now())
  if (factor === null || step === null || step <= factor.lastStep) return null
  return { kind: 'step', createdAt: factor.createdAt, step }
}

/** False when the code was used since it was read. */
export function consumeCode(
  tx: Pick<StoreRows, 'secondFactors' | 'passkeys'>,
  userId: UserId,
  code: RightCode,
  at: number,
): Promise<boolean> {
  switch (code.kind) {
    case 'recovery':
      return tx.secondFactors.useCode(userId, code.hash, at)
    case 'step':
      return tx.secondFactors.useStep(userId, code)
    case 'passkey':
      return tx.passkeys.use(userId, code.use, at)
    default:
      return unreachable(code)
  }
}
