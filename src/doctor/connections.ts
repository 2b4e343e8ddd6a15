/**
 * Connections that their person or the provider must do something about: which, whose, and what. When a consent will
 * expire is known to the provider alone; it is told here once it has.
 */
import { unreachable } from '#kernel/unreachable.ts'
import type { Store, TroubledConnection } from '#store/port.ts'
import { type Check, type Finding, ok, warning } from './finding.ts'

/** Named one by one; more are only counted. */
const maxNamed = 50

export function checkConnections({ inspector }: Pick<Store, 'inspector'>): Check {
  return async () => {
    const counts = await inspector.countConnections()
    const troubled = await inspector.listTroubled(maxNamed)
    const { active, deleting, ...rest } = counts
    const broken = Object.values(rest).reduce((sum, count) => sum + count, 0)
    const parts = Object.entries(rest).flatMap(([status, count]) =>
      count === 0 ? [] : [`${count} ${status}`],
    )
    const message = [`${active} active`, ...parts].join(', ')
    return [
      broken === 0
        ? ok('connections', message)
        : warning('connections', message, 'What each of them needs is told below'),
      deleting === 0
        ? ok('deletions', 'none is pending')
        : warning(
            'deletions',
            `${deleting} pending: the provider has not let go of the consent`,
            'They are tried again every five minutes; the log line "connection removal" says why they wait',
          ),
      ...troubled.map(describe),
      ...mentionRest(broken + deleting - troubled.length),
    ]
  }
}

function mentionRest(count: number): readonly Finding[] {
  if (count <= 0) return []
  const action = 'Mend these first, or list a user’s with `tributary connections list U`'
  return [warning('connections:more', `${count} more are not active`, action)]
}

function describe({ id, email, provider, institutionName, status }: TroubledConnection): Finding {
  const name = `connection:${id}`
  const whose = `${institutionName} (${provider}) of ${email}`
  const refresh = `tributary connections refresh ${id}`
  switch (status) {
    case 'invalidated':
      return warning(
        name,
        `${whose}: consent or credentials have expired`,
        `Ask ${email} to connect again, then \`${refresh}\``,
      )
    case 'pending_mfa':
      return warning(
        name,
        `${whose}: the institution waits for a second factor`,
        `Ask ${email} to answer it, then \`${refresh}\``,
      )
    case 'revoked':
      return warning(
        name,
        `${whose}: the consent was withdrawn`,
        `Ask ${email} to connect again, or \`tributary connections remove ${id}\``,
      )
    case 'deleting':
      return warning(
        name,
        `${whose}: waits to be deleted`,
        `\`tributary connections remove ${id}\` tries at once`,
      )
    default:
      return unreachable(status)
  }
}
