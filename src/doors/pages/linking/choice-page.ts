/** The pages for choosing a provider and an institution, or giving a key of one's own. Rendering only. */
import type { LinkingWay } from '#connections/connections.ts'
import type { OwnKeyAccess } from '#providers/credentials.ts'
import type { Institution } from '#providers/linking.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, field, hidden } from '../layout.ts'
import { makeWordFilter } from '../word-filter.ts'
import { newPath } from './places.ts'

/**
 * The first page: which provider. Those of the person's country come first, the others behind a summary.
 * @param country ISO 3166-1 alpha-2; null: not known, and all are equal.
 */
export function renderWays(ways: readonly LinkingWay[], country: string | null): Html {
  const isOwn = ({ countries }: LinkingWay) =>
    countries === null || (country !== null && countries.includes(country))
  const own = ways.filter(isOwn)
  // A country that only providers of many serve says nothing of the others.
  const isKnown = own.some(({ countries }) => countries !== null)
  const others = isKnown ? ways.filter((way) => !isOwn(way)) : []
  return html`<h1>Link a bank or broker</h1>
<p>You give your consent once, and Tributary can read from then on. It can never pay, move or trade anything.</p>
${ways.length === 0 && html`<p class="alert">No provider is set up on this server. Its operator does that; tell them.</p>`}
${renderWayList(isKnown ? own : ways)}
${others.length > 0 && html`<details open><summary>Other countries</summary>${renderWayList(others)}</details>`}`
}

const renderWayList = (ways: readonly LinkingWay[]): Html =>
  html`<ul class="ways">${ways.map(
    ({ provider, name, covers, hasPage }) => html`<li class="way">
<a href="${newPath}?provider=${provider}"><strong>${covers}</strong></a>
<small class="place">${hasPage ? html`through ${name}` : html`with a key of your own at ${name}`}</small>
</li>`,
  )}</ul>`

/** What the list shows at once; a search finds the others. */
const shownAtOnce = 50

export interface InstitutionOptions {
  readonly way: LinkingWay
  /**
   * Null: the provider's own page asks. `unavailable`: the list cannot be read now. `needs_key`: the person
   * brings a key of their own first.
   */
  readonly institutions: readonly Institution[] | null | 'unavailable' | 'needs_key'
  /** Null: there is no country to choose. */
  readonly countries: CountryChoice | null
  /** Where the provider's page sends a browser back: it is registered with a key of one's own. */
  readonly returnAddress: string
  /** What was searched for; empty: everything. */
  readonly q: string
  readonly formToken: string
  readonly institutionProblem: string | null
  readonly ownKey: OwnKeyDraft
}

export interface CountryChoice {
  /** ISO 3166-1 alpha-2. */
  readonly all: readonly string[]
  /** Whose institutions are listed; null: none yet. */
  readonly chosen: string | null
}

/** The form for a key as it was sent: what is wrong with it. Tokens that were typed are never shown again. */
export interface OwnKeyDraft {
  /** By the name of the field in the form. */
  readonly problems: Readonly<Record<string, string>>
  readonly message: string | null
  /** Tokens of made-up people, by the name of the field (sandbox mode). */
  readonly samples: Readonly<Record<string, string>>
}

/** The second page: which institution, and the form for a key of one's own. */
export function renderProvider(options: InstitutionOptions): Html {
  const { way } = options
  const hasPage = way.hasPage && options.institutions !== 'needs_key'
  return html`<h1>${way.covers}</h1>
${hasPage ? renderConsentWay(options) : alertBox(options.institutionProblem)}
${way.ownKey !== null && renderOwnKey({ ...way, hasPage }, way.ownKey, options)}
<p><a href="${newPath}">Choose another provider</a></p>`
}

function renderConsentWay({ way, institutions, ...options }: InstitutionOptions): Html {
  const { name, provider } = way
  const intro = html`<p>${name} asks you to sign in at your institution and to say what may be read. Then it brings you back here.</p>`
  if (institutions === 'unavailable') {
    return html`${intro}${alertBox(`${name} cannot show its list at the moment. Wait a few minutes, then reload this page.`)}`
  }
  if (institutions === null || institutions === 'needs_key') {
    return html`${intro}${alertBox(options.institutionProblem)}
<form method="post" action="${newPath}" class="narrow">${hidden('token', options.formToken)}${hidden('provider', provider)}
<button type="submit">Continue to ${name}</button></form>`
  }
  const { countries } = options
  const country = countries?.chosen ?? null
  if (countries !== null && country === null) {
    return html`${intro}${alertBox(options.institutionProblem)}
<form method="get" action="${newPath}" class="narrow">${hidden('provider', provider)}${renderCountries(countries)}
<button type="submit">Show its banks</button></form>`
  }
  const isFound = makeWordFilter(options.q)
  const found = institutions.filter(({ name }) => isFound(name))
  const shown = found.slice(0, shownAtOnce)
  return html`${intro}${alertBox(options.institutionProblem)}
<div role="search"><form method="get" action="${newPath}" class="search">${hidden('provider', provider)}
${countries !== null && countries.all.length > 1 && renderCountries(countries)}
<label for="q">Search</label>
<div class="search-row"><input id="q" name="q" type="search" autocomplete="off" maxlength="100" value="${options.q}">
<button type="submit" class="outline">Search</button></div>
</form></div>
${found.length === 0 && html`<p role="status">${options.q === '' ? 'There is no bank of this country in the list.' : html`No bank matches “${foreignText(options.q)}”. Try a shorter word.`}</p>`}
${
  shown.length > 0 &&
  html`<form method="post" action="${newPath}">${hidden('token', options.formToken)}${hidden('provider', provider)}
${country !== null && hidden('country', country)}<ul class="institutions">${shown.map(renderInstitution)}</ul></form>`
}
${found.length > shown.length && html`<p><small>${shown.length} of ${found.length} are shown. Search for yours.</small></p>`}`
}

function renderCountries({ all, chosen }: CountryChoice): Html {
  const options = all
    .map((code) => ({ code, name: countryNames.of(code) ?? code }))
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
  return html`<label for="country">Country</label>
<select id="country" name="country" class="country">${options.map(
    ({ code, name }) =>
      html`<option value="${code}"${code === chosen && html` selected`}>${name}</option>`,
  )}</select>`
}

const countryNames = new Intl.DisplayNames('en', { type: 'region' })

const healths = {
  healthy: null,
  degraded: 'has problems at the moment',
  outage: 'does not answer at the moment',
} as const

function renderInstitution({ id, name, health, isOpen }: Institution): Html {
  const words = isOpen
    ? health === null
      ? null
      : healths[health]
    : 'takes no new links at the moment'
  const note = words !== null && html` <small class="place">${words}</small>`
  const label = html`<span class="foreign">${foreignText(name)}</span>${note}`
  if (!isOpen) return html`<li class="institution"><span class="closed">${label}</span></li>`
  return html`<li class="institution"><button type="submit" name="institution" value="${id}" class="secondary outline">${label}</button></li>`
}

function renderOwnKey(
  way: LinkingWay,
  { fields, steps, limits, leadsToPage }: OwnKeyAccess,
  { ownKey: draft, formToken, returnAddress }: InstitutionOptions,
): Html {
  const samples = fields.flatMap(({ name, label }) => {
    const sample = draft.samples[name]
    return sample === undefined
      ? []
      : [html`<li>${label}: <code data-copy="the ${label.toLowerCase()}">${sample}</code></li>`]
  })
  return html`<h2>${way.hasPage ? 'Or with a key of your own' : 'With a key of your own'}</h2>
<ol>${steps.map((step) => html`<li>${step}</li>`)}</ol>
${leadsToPage === true && html`<p>The redirect URL of this server is <code>${returnAddress}</code></p>`}
<p><small>${limits}</small></p>
${samples.length > 0 && html`<div class="done"><p>This is the sandbox. A made-up person has ${samples.length === 1 ? 'this token' : 'these tokens'}:</p><ul>${samples}</ul></div>`}
${alertBox(draft.message)}
<form method="post" action="${newPath}" novalidate class="narrow">
${hidden('token', formToken)}${hidden('provider', way.provider)}
${fields.map(({ name, label, hint, isOptional }) =>
  field({
    name,
    label,
    type: 'password',
    autocomplete: 'off',
    ...(hint === undefined ? {} : { hint }),
    ...(isOptional === true ? { isOptional } : {}),
    problem: draft.problems[name],
  }),
)}
<button type="submit"${way.hasPage && html` class="secondary outline"`}>${leadsToPage === true ? 'Continue with this key' : html`Link with ${fields.length > 0 ? 'this key' : 'the key of this server'}`}</button>
</form>`
}
