// Additions to the theme for keyboards and screen readers: a table that is wider than the page can be
// scrolled by keys, and each list of pages has a name of its own.
'use strict'

for (const list of document.querySelectorAll('nav.md-nav[aria-labelledby]')) {
  const label = document.getElementById(list.getAttribute('aria-labelledby'))
  if (label) {
    list.removeAttribute('aria-labelledby')
    list.setAttribute('aria-label', `Pages: ${label.textContent.trim()}`)
  }
}

// The theme wraps tables, and adds buttons to code, when it has started.
const name = () => {
  for (const wrap of document.querySelectorAll('.md-typeset__scrollwrap:not([tabindex])')) {
    wrap.tabIndex = 0
    wrap.setAttribute('role', 'group')
    wrap.setAttribute('aria-label', 'Table')
  }
  document.querySelectorAll('.md-code__nav').forEach((buttons, index) => {
    const label = `Code block ${index + 1}`
    if (buttons.getAttribute('aria-label') !== label) buttons.setAttribute('aria-label', label)
  })
}
new MutationObserver(name).observe(document.body, { childList: true, subtree: true })
name()
