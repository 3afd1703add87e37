#pragma once

#include <string_view>

namespace paceline::app {

/// The look of eval_page(), light or dark as the reader's system is.
inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c1f24;--muted:#5d6672;--line:#d9dee4;--card:#f5f7f9;--right:#2563eb;--wrong:#c2410c}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--muted:#98a2ae;--line:#333a43;--card:#1d2228;--right:#6ea0ff;--wrong:#ff8a5b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.5rem 1.25rem 4rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.25rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
p{margin:.25rem 0 .75rem}
.muted,figcaption small{color:var(--muted)}
.cards{display:flex;flex-wrap:wrap;gap:.6rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.5rem .9rem;min-width:7rem}
.card b{display:block;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums}
.card span{color:var(--muted);font-size:.85rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.25rem;margin:0}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:.8rem}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
figure .picture{height:9.5rem;display:flex;align-items:center;justify-content:center;background:rgba(128,128,128,.15);color:var(--muted)}
figure img{width:100%;height:100%;object-fit:contain}
figcaption{padding:.45rem .6rem .55rem;font-size:.85rem;line-height:1.35;overflow-wrap:anywhere}
figcaption small{display:block;font-size:.75rem;max-height:2.7em;overflow:hidden}
.wrong{color:var(--wrong)}.right{color:var(--right)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child,th.text,td.text{text-align:left;overflow-wrap:anywhere}
.scroll{overflow:auto;max-height:36rem;width:fit-content;max-width:100%;border:1px solid var(--line);border-radius:.5rem}
.scroll thead th{position:sticky;top:0;background:var(--card);z-index:1}
.sortable th button{all:unset;cursor:pointer;font-weight:600}
.sortable th button:focus-visible{outline:2px solid var(--right)}
.sortable th[aria-sort=ascending] button::after{content:" \2191"}
.sortable th[aria-sort=descending] button::after{content:" \2193"}
.matrix th,.matrix td{padding:.2rem .35rem;border:1px solid var(--line);text-align:center;min-width:2rem}
.matrix thead th{vertical-align:bottom;font-weight:500}
.matrix thead th span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:9rem;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;display:inline-block}
.matrix tbody th{text-align:right;font-weight:500;max-width:14rem}
.matrix .empty{color:var(--line)}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif;fill:currentColor}
input[type=search]{font:inherit;padding:.3rem .6rem;margin-bottom:.6rem;border:1px solid var(--line);border-radius:.4rem;background:var(--card);color:inherit}
details{margin:.5rem 0}summary{cursor:pointer}
pre{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.8rem;overflow:auto;font-size:.82rem}
)css";

/// Sorts and filters the table of classes; the page can be read without it.
inline constexpr std::string_view kPageScript = R"js(
document.querySelectorAll('table.sortable').forEach(table=>{
  const body=table.tBodies[0];
  table.querySelectorAll('th button').forEach(button=>button.addEventListener('click',()=>{
    const head=button.parentElement,column=head.cellIndex;
    const falls=head.getAttribute('aria-sort')==='ascending';
    table.querySelectorAll('th').forEach(other=>other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort',falls?'descending':'ascending');
    const value=row=>row.cells[column].textContent;
    const isText=head.classList.contains('text');
    const order=(a,b)=>isText?value(a).localeCompare(value(b)):Number(value(a))-Number(value(b));
    [...body.rows].sort((a,b)=>falls?order(b,a):order(a,b)).forEach(row=>body.append(row));
  }));
});
document.querySelectorAll('input[data-filters]').forEach(input=>input.addEventListener('input',()=>{
  const wanted=input.value.toLowerCase();
  for(const row of document.getElementById(input.dataset.filters).tBodies[0].rows)
    row.hidden=!row.cells[0].textContent.toLowerCase().includes(wanted);
}));
)js";

}  // namespace paceline::app
