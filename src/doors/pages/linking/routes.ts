/** Linking a bank or broker: a provider, then an institution or a key of the person's own. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { LinkingWay } from '#connections/connections.ts'
import { ApiError } from '#contract/errors.ts'
import type { PagesContext } from '../context.ts'
import { queryOf } from '../forms.ts'
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
import { newPath, toLinked, toReturnOrigin, waitingPath } from './places.ts'
import { addReturnRoutes } from './returns.ts'
import { leadToProvider } from './start.ts'

const title = 'Link a bank or broker'
/** Longer than the name of any bank. */
const maxSearch = 100

export function addLinkingRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path: newPath }, async (turn) => {
    const { request, reply, visit } = turn
    const { provider: asked, q, country } = queryOf(request)
    const provider = asked ?? readKept(context, turn)?.get('provider') ?? undefined
    const ways = context.connections.linkingWays
    if (provider === undefined) {
      const country = guessCountry(request.headers['accept-language'], visit.user.timezone)
      return context.show(reply, visit, { title, body: renderWays(ways, country) })
    }
    const way = findWay(context, provider)
    if (way === null) return reply.redirect(newPath, 303)
    return showProvider(context, turn, way, {
      q: typeof q === 'string' ? q : '',
      country: typeof country === 'string' ? country : null,
    })
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
  /** The chosen one; null or absent: none, so that it is guessed. */
  readonly country?: string | null
  readonly institutionProblem?: string
  readonly ownKey?: Omit<OwnKeyDraft, 'samples'>
}

async function showProvider(
  context: PagesContext,
  turn: SignedInRequest,
  way: LinkingWay,
  shown: Shown,
): Promise<FastifyReply> {
  const { reply, visit } = turn
  const list = await listChoices(context, turn, way, shown.country ?? null)
  if (list.institutions === 'unavailable' && reply.statusCode === 200) reply.code(503)
  const options: InstitutionOptions = {
    way,
    ...list,
    returnAddress: `${toReturnOrigin(context, turn.request)}/providers/${way.provider}/callback`,
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
  const body = renderProvider(options)
  return context.show(reply, visit, { title: way.covers, body, formAction })
}

/** A provider that does not answer leaves the other ways of the page usable. */
async function listChoices(
  context: PagesContext,
  { request, visit }: SignedInRequest,
  { provider, hasPage, isByCountry }: LinkingWay,
  wanted: string | null,
): Promise<Pick<InstitutionOptions, 'institutions' | 'countries'>> {
  const { connections } = context
  if (!hasPage) return { institutions: null, countries: null }
  try {
    if (!isByCountry) {
      return { institutions: await connections.listInstitutions(provider), countries: null }
    }
    const guess = guessCountry(request.headers['accept-language'], visit.user.timezone)
    const country = wanted?.toUpperCase() ?? guess
    const found = await connections.listByCountry({ userId: visit.user.id, provider, country })
    if (found.kind === 'needs_key') return { institutions: 'needs_key', countries: null }
    const { institutions, countries, country: chosen } = found
    return { institutions, countries: { all: countries, chosen } }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    context.onFailure(error)
    return { institutions: 'unavailable', countries: null }
  }
}

async function lead(context: PagesContext, turn: FormTurn, way: LinkingWay): Promise<FastifyReply> {
  const { provider } = way
  const institutionId = readInstitution(way, turn.form)
  const back = `${newPath}?provider=${provider}`
  try {
    const asked = { provider, institutionId, connectionId: null, back }
    return await leadToProvider(context, turn, asked)
  } catch (error) {
    const { status, problems, message } = toProblems(error, { institution: 'This institution' })
    turn.reply.code(status)
    const institutionProblem = problems.institution ?? message ?? ''
    const country = turn.form.get('country')
    return showProvider(context, turn, way, { institutionProblem, country })
  }
}

/** Where institutions are listed by country, a name without one gets the chosen country. */
function readInstitution({ isByCountry }: LinkingWay, form: URLSearchParams): string | null {
  const institution = form.get('institution') || null
  const country = form.get('country')
  const isWhole = institution === null || /^[A-Z]{2}:/.test(institution)
  return !isByCountry || isWhole || !country ? institution : `${country}:${institution}`
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
  if (result.kind === 'needs_consent') {
    if (form.get('institution')) return lead(context, turn, way)
    const country = form.get('country')
    const chosen = country ? `&country=${encodeURIComponent(country)}` : ''
    return reply.redirect(`${newPath}?provider=${way.provider}${chosen}`, 303)
  }
  const { kind: _kind, status, cause, retryAfterSeconds, ...ownKey } = result
  if (status >= 500) context.onFailure(cause)
  if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
  reply.code(status)
  return showProvider(context, turn, way, { ownKey })
}
