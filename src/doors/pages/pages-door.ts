/**
 * The pages through which a person signs in (docs/accounts.md, Pages): HTML from the server, working without
 * JavaScript. The door translates forms into actions and results into pages; the rooms behind it decide what
 * is allowed. Each area of pages is a folder beside this file.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeAllowedHosts } from '../allowed-hosts.ts'
import { hasDisconnected, requestIdOf } from '../client.ts'
import { readText } from '../listener/request-body.ts'
import { addActivityRoutes } from './activity/routes.ts'
import { addAgentRoutes } from './agents/routes.ts'
import { addAssetRoutes, readAssets } from './assets.ts'
import { addByMailRoutes } from './by-mail/routes.ts'
import { addConnectionRoutes } from './connections/routes.ts'
import { addConsentRoutes } from './consent/routes.ts'
import { makeContext, type PagesContext, type PagesDoorOptions } from './context.ts'
import { rememberDone } from './done-notes.ts'
import { addEventRoutes } from './events/routes.ts'
import { explain } from './failures.ts'
import { addGuideRoutes } from './guides/routes.ts'
import { addHomeRoutes } from './home/routes.ts'
import { addKeyRoutes } from './keys/routes.ts'
import { addLinkingRoutes } from './linking/routes.ts'
import { addMoneyRoutes } from './money/routes.ts'
import { renderNotice, renderWrongAddress } from './notices.ts'
import { addPlanRoutes } from './plan/routes.ts'
import { addProgramRoutes } from './programs/routes.ts'
import { addSettingsRoutes } from './settings/routes.ts'
import { addSignInRoutes } from './sign-in/routes.ts'
import { addUsageRoutes } from './usage/routes.ts'
import { addWebhookRoutes } from './webhooks/routes.ts'
import { addWelcomeRoutes } from './welcome/routes.ts'

/** Mounts the pages; register it without a prefix. */
export async function pagesDoor(
  fastify: FastifyInstance,
  options: PagesDoorOptions,
): Promise<void> {
  const assets = await readAssets()
  const names = makeAllowedHosts(options)
  const context = makeContext(options, { assets, names })
  await fastify.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.headers(pageHeaders)
      if (!names.isOwnHost(request)) return showWrongHost(context, request, reply)
    })
    scope.addHook('onSend', async (_request, reply, payload) => {
      const location = reply.statusCode === 303 ? reply.getHeader('location') : undefined
      if (typeof location === 'string') rememberDone(context.cookies, reply, location)
      return payload
    })
    scope.setErrorHandler((error, request, reply) => {
      // The client has disconnected, which is not a failure of ours.
      if (hasDisconnected(request.raw)) return reply.code(499).send()
      const { status, retryAfterSeconds, problem } = explain(error)
      const requestId = requestIdOf(request.raw)
      if (status >= 500) options.onFailure(error, requestId)
      if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
      // What was under way when the answer was lost may have been done.
      const isUncertain = problem === 'unavailable' && request.method === 'POST'
      return showFailure(context, reply.code(status), {
        problem: isUncertain ? 'uncertain' : problem,
        requestId,
      })
    })
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      async (request: FastifyRequest) => new URLSearchParams(await readText(request.raw)),
    )
    addHomeRoutes(scope, context)
    addSignInRoutes(scope, context)
    addByMailRoutes(scope, context)
    addConsentRoutes(scope, context)
    addAgentRoutes(scope, context)
    addMoneyRoutes(scope, context)
    addConnectionRoutes(scope, context)
    addLinkingRoutes(scope, context)
    addKeyRoutes(scope, context)
    addProgramRoutes(scope, context)
    addWebhookRoutes(scope, context)
    addEventRoutes(scope, context)
    addWelcomeRoutes(scope, context)
    addUsageRoutes(scope, context)
    addPlanRoutes(scope, context)
    addSettingsRoutes(scope, context)
    addActivityRoutes(scope, context)
    addGuideRoutes(scope, context)
  })
  // Under any host name: the page that names the right one needs the assets too, and they reveal nothing.
  await fastify.register(async (scope) => {
    scope.addHook('onRequest', async (_request, reply) => void reply.headers(pageHeaders))
    addAssetRoutes(scope, assets)
  })
}

const problems = {
  too_large: ['Request too large', 'No form of this server is that long.'],
  not_a_form: ['Not a form', 'Send the fields as application/x-www-form-urlencoded.'],
  unavailable: [
    'Temporarily unavailable',
    'A service that this page needs is unavailable. Try again shortly.',
  ],
  uncertain: [
    'Temporarily unavailable',
    'A service that this page needs is unavailable. Try again shortly, and look first whether your change is there already.',
  ],
  internal: ['That went wrong', 'The error is ours and has been logged. Try again later.'],
} as const

/** Links to the same page at the right address, where a link can express it. */
function showWrongHost(
  context: PagesContext,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { base } = context.origins()
  const there = base + (request.method === 'GET' ? request.url : '/')
  const title = 'Wrong address'
  const body = renderWrongAddress(base, there)
  return context.show(reply.code(400), null, { title, body, home: `${base}/` })
}

function showFailure(
  context: PagesContext,
  reply: FastifyReply,
  { problem, requestId }: { readonly problem: keyof typeof problems; readonly requestId: string },
): FastifyReply {
  const [title, told] = problems[problem]
  reply.header('x-request-id', requestId)
  const sentence = problem === 'internal' ? `${told} For the operator: request ${requestId}.` : told
  return context.show(reply, null, { title, body: renderNotice(title, sentence) })
}

/** On every answer of this door; assets override the caching. */
const pageHeaders = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
