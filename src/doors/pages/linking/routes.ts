/** Linking a bank or broker: a provider, then an institution or a key of the person's own. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { LinkingWay } from '#connections/connections.ts'
import { ApiError } from '#contract/errors.ts'
import type { Institution } from '#providers/linking.ts'
import type { PagesContext } from '../context.ts'
import {
  addForm,
  addPage,
  type FormTurn,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
} from '../signed-in.ts'
import {
  type InstitutionOptions,
  type OwnKeyDraft,
  renderProvider,
  renderWays,
} from './choice-page.ts'
import { guessCountry } from './home-country.ts'
import { connectByOwnKey } from './own-key.ts'
import { newPath, toLinked, waitingPath } from './places.ts'
import { addReturnRoutes } from './returns.ts'
import { leadToProvider } from './start.ts'

const title = 'Link a bank or broker'
/** Longer than the name of any bank. */
const maxSearch = 100

export function addLinkingRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path: newPath }, async (turn) => {
    const { request, reply, visit } = turn
    const asked: Readonly<Record<string, unknown>> = { ...(request.query as object) }
    const provider = asked.provider ?? readKept(context, turn)?.get('provider') ?? undefined
    const { q } = asked
    const ways = context.connections.linkingWays
    if (provider === undefined) {
      const country = guessCountry(request.headers['accept-language'], visit.user.timezone)
      return context.show(reply, visit, { title, body: renderWays(ways, country) })
    }
    const way = findWay(context, provider)
    if (way === null) return reply.redirect(newPath, 303)
    return showProvider(context, turn, way, { q: typeof q === 'string' ? q : '' })
  })

  addForm(scope, context, { path: newPath, kept: ['provider'] }, async (turn) => {
    const way = findWay(context, turn.form.get('provider'))
    if (way === null) return turn.reply.redirect(newPath, 303)
    return givesOwnKey(way, turn.form) ? useOwnKey(context, turn, way) : lead(context, turn, way)
  })

  addReturnRoutes(scope, context)
}

function findWay({ connections }: PagesContext, provider: unknown): LinkingWay | null {
  return connections.linkingWays.find((way) => way.provider === provider) ?? null
}

function givesOwnKey({ ownKey, hasPage }: LinkingWay, form: URLSearchParams): boolean {
  return !hasPage || (ownKey?.fields ?? []).some(({ name }) => form.has(name))
}

interface Shown {
  readonly q?: string
  readonly institutionProblem?: string
  readonly ownKey?: Omit<OwnKeyDraft, 'samples'>
}

async function showProvider(
  context: PagesContext,
  { reply, visit }: SignedInRequest,
  way: LinkingWay,
  shown: Shown = {},
): Promise<FastifyReply> {
  const institutions = way.hasPage ? await listInstitutions(context, way) : null
  if (institutions === 'unavailable' && reply.statusCode === 200) reply.code(503)
  const options: InstitutionOptions = {
    way,
    institutions,
    q: (shown.q ?? '').trim().slice(0, maxSearch),
    formToken: visit.formToken,
    institutionProblem: shown.institutionProblem ?? null,
    ownKey: {
      problems: {},
      message: null,
      ...shown.ownKey,
      samples: context.sampleTokens[way.provider] ?? {},
    },
  }
  const formAction = context.linkingTargets
  return context.show(reply, visit, { title, body: renderProvider(options), formAction })
}

/** A provider that does not answer leaves the other ways of the page usable. */
async function listInstitutions(
  context: PagesContext,
  { provider }: LinkingWay,
): Promise<readonly Institution[] | null | 'unavailable'> {
  try {
    return await context.connections.listInstitutions(provider)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    context.onFailure(error)
    return 'unavailable'
  }
}

async function lead(context: PagesContext, turn: FormTurn, way: LinkingWay): Promise<FastifyReply> {
  const { provider } = way
  const institutionId = turn.form.get('institution') || null
  const back = `${newPath}?provider=${provider}`
  try {
    const asked = { provider, institutionId, connectionId: null, back }
    return await leadToProvider(context, turn, asked)
  } catch (error) {
    const { status, problems, message } = toProblems(error, { institution: 'This institution' })
    turn.reply.code(status)
    const institutionProblem = problems.institution ?? message ?? ''
    return showProvider(context, turn, way, { institutionProblem })
  }
}

async function useOwnKey(
  context: PagesContext,
  turn: FormTurn,
  way: LinkingWay,
): Promise<FastifyReply> {
  const { reply, visit, form } = turn
  const result = await connectByOwnKey(context.connections, toBy(visit), { way, form })
  if (result.kind === 'linked') return reply.redirect(toLinked(result.connections), 303)
  if (result.kind === 'waiting') return reply.redirect(waitingPath(result.attempt), 303)
  const { kind: _kind, status, cause, retryAfterSeconds, ...ownKey } = result
  if (status >= 500) context.onFailure(cause)
  if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
  reply.code(status)
  return showProvider(context, turn, way, { ownKey })
}
