# steptime reproduce E-DDL --format json | jq -cf plots/ddl_rows.jq
# Of predicted rows: how many, the geometric mean of their errors, how many are within 15 %, and the
# worst in per cent; and of pairs of them on as many GPUs that differ by more than 2 %: how many, and
# how many are in the right order. Without ResNet-50 with ByteScheduler's all-reduce.
map(select(.quantity | test("^ResNet.*ByteScheduler all-reduce") | not)) |
  {off: (map(select(.kind == "predicted")) | [length, (map(.simulated / .published | log | fabs) | add / length | exp - 1),
     (map(select(.simulated / .published | log | fabs < (1.15 | log))) | length), (map(.error_pct | fabs) | max)]),
   orders: ([group_by(.quantity | split(", ") | [.[0], .[1], .[-1][-7:]])[] | . as $g | range(length) as $i | range($i) as $j | [$g[$i], $g[$j]]
     | select(all(.[]; .kind == "predicted") and ((.[0].published / .[1].published | log | fabs) > (1.02 | log)))
     | (.[0].simulated - .[1].simulated) * (.[0].published - .[1].published) > 0] | [length, (map(select(.)) | length)])}
