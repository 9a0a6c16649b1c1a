// A classifier of Weka, learned and asked over splits that are given.
//
//   javac -cp weka.jar Parts.java
//   java -cp weka.jar:. Parts table.arff parts.txt "class [options]"
//
// parts.txt has a line for every split, and in it for every row of the table a 1 if it is asked and a 0 if it is
// learned. Prints for each split the share of the rows asked that were answered rightly.
import java.io.BufferedReader;
import java.io.FileReader;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;

public class Parts {
    public static void main(String[] arguments) throws Exception {
        Instances table = new Instances(new BufferedReader(new FileReader(arguments[0])));
        table.setClassIndex(table.numAttributes() - 1);
        try (BufferedReader parts = new BufferedReader(new FileReader(arguments[1]))) {
            for (String asked; (asked = parts.readLine()) != null; ) {
                Instances train = new Instances(table, 0), test = new Instances(table, 0);
                for (int row = 0; row < table.numInstances(); row++)
                    (asked.charAt(row) == '1' ? test : train).add(table.instance(row));
                String[] options = Utils.splitOptions(arguments[2]);
                String name = options[0];
                options[0] = "";
                Classifier model = Classifier.forName(name, options);
                model.buildClassifier(train);
                int right = 0;
                for (int row = 0; row < test.numInstances(); row++)
                    if (model.classifyInstance(test.instance(row)) == test.instance(row).classValue()) right++;
                System.out.println((double) right / test.numInstances());
            }
        }
    }
}
