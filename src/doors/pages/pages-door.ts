/**
 * The pages a person signs in through (interfaces, section 6): HTML from the server, working without JavaScript. The
 * door translates forms into actions and results into pages; what may be done is decided in the rooms behind it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Accounts } from '#auth/accounts/accounts.ts'
import type { Sessions } from '#auth/accounts/sessions.ts'
import type { Agents, ConsentDesk } from '#auth/oauth/port.ts'
import type { PlanSettings } from '#auth/plans.ts'
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/port.ts'
import { makeOwnNames, type PublicOrigins } from '../own-names.ts'
import { renderNotice } from './account-pages.ts'
import { addAccountRoutes } from './account-routes.ts'
import { addAgentRoutes } from './agent-routes.ts'
import { type Assets, addAssetRoutes, readAssets } from './assets.ts'
import { makeCookies } from './cookies.ts'
import { explain } from './failures.ts'
import type { Html } from './html.ts'
import { renderPage } from './layout.ts'
import { makeVisits, type Visit, type Visits } from './visit.ts'

export interface PagesDoorOptions {
  readonly store: Store
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly consent: ConsentDesk
  readonly agents: Agents
  readonly plans: PlanSettings
  readonly clock: Clock
  /** Public origins; known once the listener is bound. */
  readonly origins: () => PublicOrigins
  /** Only this machine can reach the listener. */
  readonly isLoopback: boolean
  /** The service is reached by https. */
  readonly secure: boolean
  readonly addressOf: (request: FastifyRequest) => string
  /** A failure of ours, with its cause; the person is told nothing of it. */
  readonly onFailure: (error: unknown) => void
}

/** What the routes work with. */
export interface PagesContext extends PagesDoorOptions {
  readonly cookies: ReturnType<typeof makeCookies>
  readonly visits: Visits
  /** Sends a whole page. `formAction`: a further target that its form may lead to. */
  show(
    reply: FastifyReply,
    visit: Visit | null,
    page: { readonly title: string; readonly body: Html; readonly formAction?: string },
  ): FastifyReply
  /** The answer to a post that did not come from a page of ours. */
  refusePost(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

const bodyLimit = 16 * 1024

/** Mounts the pages; register it without a prefix. */
export async function pagesDoor(
  fastify: FastifyInstance,
  options: PagesDoorOptions,
): Promise<void> {
  const assets = await readAssets()
  const names = makeOwnNames(options)
  const context = makeContext(options, { assets, names })
  await fastify.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.headers(pageHeaders)
      if (!names.isOwnHost(request)) return showFailure(context, reply.code(400), 'wrong_host')
    })
    scope.setErrorHandler((error, _request, reply) => {
      const { status, retryAfterSeconds, problem } = explain(error)
      if (status >= 500) options.onFailure(error)
      if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
      return showFailure(context, reply.code(status), problem)
    })
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit },
      (_request, body, done) => done(null, new URLSearchParams(body)),
    )
    addAccountRoutes(scope, context)
    addAgentRoutes(scope, context)
    addAssetRoutes(scope, assets)
  })
}

function makeContext(
  options: PagesDoorOptions,
  { assets, names }: { assets: Assets; names: ReturnType<typeof makeOwnNames> },
): PagesContext {
  const { store, sessions } = options
  const cookies = makeCookies({ secure: options.secure })
  const visits = makeVisits({ store, sessions, cookies, names })
  const context: PagesContext = {
    ...options,
    cookies,
    visits,
    show(reply, visit, { title, body, formAction }) {
      return reply
        .header('content-security-policy', contentSecurityPolicy(formAction))
        .type('text/html; charset=utf-8')
        .send(renderPage({ title, visit, body }, assets))
    },
    async refusePost(request, reply) {
      const visit = await visits.begin(request, reply)
      const body = renderNotice(
        'That form has expired',
        'It was not sent from a page that this browser has open. Go back, reload the page and try again.',
      )
      return context.show(reply.code(403), visit, { title: 'Form expired', body })
    },
  }
  return context
}

const problems = {
  wrong_host: ['Wrong address', 'This server does not answer under that name.'],
  too_large: ['That was too much', 'No form of this server is that long.'],
  not_a_form: ['Not a form', 'Send the fields as application/x-www-form-urlencoded.'],
  unreadable: ['Not understood', 'The request could not be read.'],
  away: ['Back in a moment', 'Something this page needs does not answer. Try again shortly.'],
  internal: ['That went wrong', 'The mistake is ours, and it was written down. Try again later.'],
} as const

function showFailure(
  context: PagesContext,
  reply: FastifyReply,
  problem: keyof typeof problems,
): FastifyReply {
  const [title, sentence] = problems[problem]
  return context.show(reply, null, { title, body: renderNotice(title, sentence) })
}

/** On every answer of this door; assets may be kept nevertheless. */
const pageHeaders = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** An origin or a scheme: what could begin a directive of its own is left out. */
const policySource = /^[a-z][a-z\d+.-]*:(?:\/\/[^\s;,'"]+)?$/i

/** Everything from ourselves, nothing inline; the consent form may also lead to where the agent waits. */
function contentSecurityPolicy(formAction: string | undefined): string {
  const isSource = formAction !== undefined && policySource.test(formAction)
  return [
    "default-src 'none'",
    "style-src 'self'",
    // Pico draws its marks (a tick, a warning) from data in its own sheet.
    "img-src 'self' data:",
    `form-action 'self'${isSource ? ` ${formAction}` : ''}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
