/**
 * The pages a person signs in through (interfaces, section 6): HTML from the server, working without JavaScript. The
 * door translates forms into actions and results into pages; what may be done is decided in the rooms behind it.
 */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Accounts } from '#auth/accounts/accounts.ts'
import type { Sessions } from '#auth/accounts/sessions.ts'
import type { Agents, ConsentDesk } from '#auth/oauth/port.ts'
import type { PlanSettings } from '#auth/plans.ts'
import type { Store } from '#store/port.ts'
import { renderNotice } from './account-pages.ts'
import { addAccountRoutes } from './account-routes.ts'
import { addAgentRoutes } from './agent-routes.ts'
import { makeCookies } from './cookies.ts'
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
  /** Public origins; known once the listener is bound. */
  readonly origins: () => { readonly base: string; readonly mcp: string; readonly auth: string }
  /** The service is reached by https. */
  readonly secure: boolean
  readonly addressOf: (request: FastifyRequest) => string
}

/** What the routes work with. */
export interface PagesContext extends PagesDoorOptions {
  readonly cookies: ReturnType<typeof makeCookies>
  readonly visits: Visits
  /** Sends a whole page. `formAction`: a further target that its form may lead to. */
  show(
    reply: FastifyReply,
    visit: Visit,
    page: { readonly title: string; readonly body: Html; readonly formAction?: string },
  ): FastifyReply
  /** The answer to a post that did not come from a page of ours. */
  refusePost(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

const bodyLimit = 16 * 1024
const assetLife = 'public, max-age=31536000, immutable'

/** Mounts the pages; register it without a prefix. */
export async function pagesDoor(
  fastify: FastifyInstance,
  options: PagesDoorOptions,
): Promise<void> {
  const styles = await readStyles()
  const cookies = makeCookies({ secure: options.secure })
  const visits = makeVisits({
    store: options.store,
    sessions: options.sessions,
    cookies,
    isOwnOrigin: (origin) => Object.values(options.origins()).includes(origin),
  })
  const context: PagesContext = {
    ...options,
    cookies,
    visits,
    show(reply, visit, { title, body, formAction }) {
      const { user, formToken } = visit
      const page = renderPage(
        { title, user, formToken, body },
        { paths: styles.map(({ path }) => path) },
      )
      return reply
        .headers({ ...pageHeaders, 'content-security-policy': contentSecurityPolicy(formAction) })
        .type('text/html; charset=utf-8')
        .send(page)
    },
    async refusePost(request, reply) {
      const visit = await visits.begin(request, reply)
      reply.code(403)
      return context.show(reply, visit, {
        title: 'Form expired',
        body: renderNotice(
          'That form has expired',
          'It was not sent from a page that this browser has open. Go back, reload the page and try again.',
        ),
      })
    },
  }

  await fastify.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit },
      (_request, body, done) => done(null, new URLSearchParams(body)),
    )
    addAccountRoutes(scope, context)
    addAgentRoutes(scope, context)
    for (const style of styles) {
      scope.get(style.path, async (_request, reply) =>
        reply
          .headers({ 'cache-control': assetLife, 'x-content-type-options': 'nosniff' })
          .type('text/css; charset=utf-8')
          .send(style.bytes),
      )
    }
  })
}

const pageHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
}

/** Everything from ourselves, nothing inline; the consent form may also lead to where the agent waits. */
function contentSecurityPolicy(formAction: string | undefined): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    `form-action 'self'${formAction === undefined ? '' : ` ${formAction}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

interface Style {
  readonly path: string
  readonly bytes: Buffer
}

/** Pico from its package and our own sheet over it, each under the digest of its content. */
async function readStyles(): Promise<readonly Style[]> {
  const pico = createRequire(import.meta.url).resolve('@picocss/pico/css/pico.min.css')
  const files = [
    { name: 'pico', bytes: await readFile(pico) },
    { name: 'pages', bytes: await readFile(new URL('./pages.css', import.meta.url)) },
  ]
  return files.map(({ name, bytes }) => ({
    path: `/assets/${name}-${hash('sha256', bytes).slice(0, 16)}.css`,
    bytes,
  }))
}
