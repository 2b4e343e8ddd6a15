/**
 * Handles a known account that its provider no longer has: it may have moved to another id, or left its
 * connection. The connection's accounts are refreshed, once, and the request runs again with the current
 * ones. A connection without accounts is refreshed first: its accounts may not have been there when it was
 * linked, and nothing that is read for no account tells of them.
 */
import { ApiError } from '#contract/errors.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import type { ReadOptions } from './read-context.ts'
import type { Target } from './target.ts'

export interface Followed {
  readonly options: Pick<ReadOptions, 'refreshAccounts'>
  readonly target: Target
  /** Finds the target again; throws `account_not_found` when it no longer exists. */
  readonly find: () => Promise<Target>
  readonly call: CallContext
}

/** Runs `read`, and a second time when accounts have moved. Where none has, the first failure is thrown. */
export async function followMoved<Result>(
  { options, target, find, call }: Followed,
  read: (target: Target) => Promise<Result>,
): Promise<Result> {
  const refresh = async () => {
    try {
      await options.refreshAccounts(target.connection.id, call)
    } catch (error) {
      // The list was refused, which the next sync tells: the known accounts are read.
      if (!(error instanceof ApiError) || error.entry !== 'too_many_connections') throw error
    }
    return find()
  }
  if (target.accounts.length === 0) return read(await refresh())
  try {
    return await read(target)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.failure.kind !== 'account_gone') throw error
    const current = await refresh()
    const before = target.accounts.map((account) => account.upstreamId).join()
    if (current.accounts.map((account) => account.upstreamId).join() === before) throw error
    return read(current)
  }
}
