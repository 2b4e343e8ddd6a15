/**
 * Connections that need an action by their person, the operator or the provider: which, whose, and what to
 * do. Only the provider knows when a consent will expire; it is reported here after it has.
 */
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { LoginAccess } from '#providers/credentials.ts'
import type { TroubledConnection } from '#store/ports/inspector.ts'
import { type FailingOptions, findFailing } from './failing.ts'
import { type Check, type Finding, ok, warning } from './finding.ts'
import { describeLogin } from './logins.ts'

/** Listed individually; further ones are only counted. */
const maxNamed = 50

export function checkConnections(options: FailingOptions): Check {
  const { inspector } = options.store
  return async () => {
    const counts = await inspector.countConnections()
    const troubled = await inspector.listTroubled(maxNamed)
    const failing = await findFailing(options)
    const { active, deleting, ...rest } = counts
    const broken = Object.values(rest).reduce((sum, count) => sum + count, 0)
    const others = Object.entries(rest).flatMap(([status, count]) =>
      count === 0 ? [] : [`${count} ${status}`],
    )
    const message = [`${active} active`, ...others].join(', ')
    return [
      broken + failing.length === 0
        ? ok('connections', message)
        : warning('connections', message, 'The findings below say what each of them needs'),
      deleting === 0
        ? ok('deletions', 'none is pending')
        : warning(
            'deletions',
            `${deleting} pending: the consent is not yet deleted at the provider`,
            'They are retried every five minutes; the log line "connection removal" has the reason',
          ),
      ...(await Promise.all(
        troubled.map(async (one) =>
          describe(one, await describeLogin(options, { ...one, id: one.loginId })),
        ),
      )),
      ...mentionRest(broken + deleting - troubled.length),
      ...failing,
    ]
  }
}

function mentionRest(count: number): readonly Finding[] {
  if (count <= 0) return []
  const action = 'Resolve these first, or list a user’s with `tributary connections list U`'
  return [warning('connections:more', `${count} more are not active`, action)]
}

function describe(connection: TroubledConnection, { renewal }: LoginAccess): Finding {
  const { id, email, provider, institutionName, status } = connection
  const name = `connection:${id}`
  const whose = `${institutionName} (${provider}) of ${email}`
  const refresh = `tributary connections refresh ${id}`
  switch (status) {
    case 'invalidated':
      return warning(
        name,
        factsOf(provider).whenInvalidated === undefined
          ? `${whose}: consent or credentials have expired`
          : `${whose}: the provider refuses this access; consent, credentials or a subscription have ended`,
        `${renewal}; \`${refresh}\` looks again`,
      )
    case 'pending_mfa':
      return warning(
        name,
        `${whose}: the institution waits for a second factor`,
        `For ${email}: ${factsOf(provider).secondFactor} \`${refresh}\` looks again`,
      )
    case 'revoked':
      return warning(
        name,
        `${whose}: the consent was withdrawn`,
        `${renewal}; or \`tributary connections remove ${id}\``,
      )
    case 'deleting':
      return warning(
        name,
        `${whose}: deletion is pending`,
        `\`tributary connections remove ${id}\` tries at once`,
      )
    default:
      return unreachable(status)
  }
}
