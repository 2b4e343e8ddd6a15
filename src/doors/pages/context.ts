/**
 * What all page routes use: the rooms behind the door, cookies and visits, and the one function that sends a
 * page. It mounts no routes.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UserActions } from '#auth/actions.ts'
import type { Agents, ConsentRequests } from '#auth/oauth/port.ts'
import { type PlanSettings, sellsPlans } from '#auth/plans.ts'
import type { ByMail } from '#auth/sign-in/by-mail.ts'
import type { Sessions } from '#auth/sign-in/sessions.ts'
import type { SignIns } from '#auth/sign-in/sign-ins.ts'
import type { Connections } from '#connections/connections.ts'
import type { AddMadeUpData } from '#connections/linking/add-made-up-data.ts'
import type { Origins } from '#contract/origins.ts'
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { Sealer } from '#store/seal.ts'
import type { ReadLimits } from '#usage/limits-left.ts'
import type { ReadUsage } from '#usage/report.ts'
import type { Webhooks } from '#webhooks/webhooks.ts'
import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Assets } from './assets.ts'
import { makeCookies } from './cookies.ts'
import type { Html } from './html.ts'
import { type InterruptedForms, makeInterruptedForms } from './interrupted.ts'
import { type Interruption, renderPage } from './layout.ts'
import type { OpenOwnReads } from './money/own-reads.ts'
import { renderNotice } from './notices.ts'
import { makeShownOnce, type ShownOnce } from './shown-once.ts'
import { makeVisits, type Visit, type Visits } from './visit.ts'

export interface PagesDoorOptions {
  readonly store: StoreReader
  readonly connections: Connections
  readonly actions: UserActions
  readonly webhooks: Webhooks
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly signIns: SignIns
  readonly byMail: ByMail
  readonly sessions: Sessions
  readonly consent: ConsentRequests
  readonly agents: Agents
  readonly plans: PlanSettings
  /** Links the made-up people (sandbox mode); null: there are none. */
  readonly addMadeUpData: AddMadeUpData | null
  /** What people read on the pages themselves. */
  readonly openOwnReads: OpenOwnReads
  /** What this person has asked for in the last days. */
  readonly readUsage: ReadUsage
  /** What is left of their limits now. */
  readonly readLimits: ReadLimits
  readonly clock: Clock
  /** Where forms that begin a link may lead (`form-action`). */
  readonly linkingTargets: readonly string[]
  /**
   * Tokens of made-up people by provider and name of the form field (sandbox mode); empty: there are none.
   */
  readonly sampleTokens: Partial<Readonly<Record<Provider, Readonly<Record<string, string>>>>>
  /** Public origins; known once the listener is bound. */
  readonly origins: () => Origins
  /** Only this machine can reach the listener. */
  readonly isLoopback: boolean
  /** The service is reached by https. */
  readonly secure: boolean
  readonly addressOf: (request: FastifyRequest) => string
  /** An internal failure, with its cause; the page does not show it. */
  readonly onFailure: (error: unknown, requestId?: string) => void
}

export interface PagesContext extends PagesDoorOptions {
  readonly cookies: ReturnType<typeof makeCookies>
  readonly visits: Visits
  readonly shownOnce: ShownOnce
  readonly interrupted: InterruptedForms
  /** Sends a complete page. `formAction`: further targets that its forms may lead to. */
  show(
    reply: FastifyReply,
    visit: Visit | null,
    page: {
      readonly title: string
      readonly body: Html
      readonly formAction?: string | readonly string[]
      /** Target of the logo link, when it is not the start page under the requested host name. */
      readonly home?: string
    },
  ): FastifyReply
  /** Refuses a post that did not come from one of our pages. */
  refusePost(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** Made once and shared by all routes. */
export function makeContext(
  options: PagesDoorOptions,
  { assets, names }: { assets: Assets; names: AllowedHosts },
): PagesContext {
  const cookies = makeCookies({ secure: options.secure })
  const visits = makeVisits({ ...options, cookies, names })
  const interrupted = makeInterruptedForms({ ...options, cookies })

  /** What the page says of the form that was interrupted, once its sender has signed in. */
  function takeInterruption(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit | null,
  ): Interruption | undefined {
    const [path = '/'] = request.url.split('?', 1)
    const { session = null, user = null } = visit ?? {}
    if (request.method !== 'GET' || session?.isFresh !== true || user === null) return undefined
    if (!interrupted.isInterrupted(request, path)) return undefined
    interrupted.clear(reply, path)
    return interrupted.read(request, path, user.id) === null ? 'lost' : 'kept'
  }

  const context: PagesContext = {
    ...options,
    cookies,
    visits,
    interrupted,
    shownOnce: makeShownOnce({ ...options, cookies }),
    show(reply, visit, { title, body, formAction, home }) {
      const { request } = reply
      const [path = '/'] = request.url.split('?', 1)
      const interruption = takeInterruption(request, reply, visit)
      const plansAreSold = sellsPlans(options.plans)
      const confirmsAddresses = options.byMail.isMailed
      return reply
        .header('content-security-policy', contentSecurityPolicy(formAction))
        .type('text/html; charset=utf-8')
        .send(
          renderPage(
            {
              ...{ title, visit, body, home, path },
              ...{ plansAreSold, confirmsAddresses, interruption },
              isSandbox: options.addMadeUpData !== null,
              isRefused: request.method === 'POST' && reply.statusCode >= 400,
            },
            assets,
          ),
        )
    },
    async refusePost(request, reply) {
      const visit = await visits.begin(request, reply)
      const heading = 'That form has expired'
      const body =
        visit.user === null
          ? renderNotice(
              heading,
              'Nothing was changed: you are signed out in this browser. Sign in, then fill in the form again.',
              { path: '/sign-in', words: 'Sign in' },
            )
          : renderNotice(
              heading,
              'Nothing was changed: the form did not come from a page of this sign-in. Open its page again, then send it once more.',
            )
      return context.show(reply.code(403), visit, { title: 'Form expired', body })
    },
  }
  return context
}

/**
 * A host's origin, perhaps with any port, a port of applications on any host, or a scheme: nothing that names
 * all hosts of the web, or a directive.
 */
const policySource =
  /^(?:[a-z][a-z\d+.-]*:(?:\/\/[a-z\d._-]+(?::(?:\d+|\*))?)?|http:\/\/\*:\d{4,5})$/i

/** All from our own origin, nothing inline; forms may also lead to an agent's address or a provider. */
function contentSecurityPolicy(formAction: string | readonly string[] = []): string {
  const sources = [formAction].flat().filter((source) => policySource.test(source))
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    // Pico's icons (a tick, a warning) are data URLs in its style sheet.
    "img-src 'self' data:",
    ["form-action 'self'", ...sources].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
