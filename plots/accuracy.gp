# Test accuracy against simulated time, one line per training mode: the mean over the seeds.
#
#   gnuplot -e "folder='results'; modes='mpi-SGD mpi-ESGD'; out='results/accuracy'" plots/accuracy.gp
#
# folder: holds MODE.accuracy.csv for every mode, as `steptime run --set /name=MODE -o` writes it; a
# mode that begins with "dist" is dashed. Writes out.svg and out.png.

set datafile separator comma

# Okabe and Ito's palette, which colour-blind readers can tell apart.
colour(m) = m[strlen(m) - 3 : *] eq "ASGD" ? "#D55E00" : m[strlen(m) - 3 : *] eq "ESGD" ? "#009E73" : "#0072B2"
dash(m) = m[1 : 4] eq "dist" ? 2 : 1

# The k-th tests of all seeds together: their mean time and accuracy.
mean(m) = sprintf("< awk -F, 'NR == 1 {next} $1 != seed {seed = $1; k = 0} \
                  {t[k] += $2; a[k] += $4; n[k]++; k++} \
                  END {for (i = 1; i in n; i++) print t[i] / n[i] \",\" a[i] / n[i]}' %s/%s.accuracy.csv", folder, m)

set logscale x
set xrange [5 : *]
set yrange [0 : 1]
set xlabel "simulated time (s)"
set ylabel "accuracy on test images"
set title "Accuracy against simulated time, mean of the seeds"
set key right bottom samplen 5
set grid ytics linecolor "#dddddd"
set arrow from graph 0, first 0.93 to graph 1, first 0.93 nohead linecolor "#888888" dashtype 3
set label "93 %" at graph 0.01, first 0.955 textcolor "#666666"
set border 3
set tics nomirror

do for [terminal in "svg png"] {
  eval sprintf("set terminal %s size 800, 480 enhanced", terminal eq "svg" ? "svg" : "pngcairo")
  set output sprintf("%s.%s", out, terminal)
  plot for [i=1:words(modes)] mean(word(modes, i)) using 1:2 with lines \
       linecolor rgb colour(word(modes, i)) dashtype dash(word(modes, i)) linewidth 2 \
       title word(modes, i)
}
